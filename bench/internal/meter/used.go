// SPDX-License-Identifier: Apache-2.0

package meter

import "maps"

// Used is what was used between two readings, and what there was at the later one.
type Used struct {
	Seconds float64 `json:"seconds"`
	// CPUSeconds, Received and Sent (in bytes) are the process's; RSSKiB is its memory at the end, and
	// Connections its TCP connections then.
	CPUSeconds  float64 `json:"cpuSeconds"`
	RSSKiB      int     `json:"rssKiB"`
	Received    int64   `json:"received"`
	Sent        int64   `json:"sent"`
	Connections int     `json:"connections"`
	// MachineBusy is the share of all cores that were busy, with whatever.
	MachineBusy float64 `json:"-"`
	// ComponentCPUSeconds and ComponentRSSKiB are those of the control plane, by component.
	ComponentCPUSeconds map[string]float64 `json:"componentCPUSeconds"`
	ComponentRSSKiB     map[string]int     `json:"componentRSSKiB"`
	// WatchEvents and WatchBytes were sent to all watchers, by resource; Writes went to etcd.
	WatchEvents map[string]float64 `json:"watchEvents"`
	WatchBytes  map[string]float64 `json:"watchBytes"`
	Writes      float64            `json:"writes"`
	// Watches were open at the end. ServerLiveKiB is what the API server's heap had alive, as far as is known
	// without a garbage collection, and the stacks of its goroutines.
	Watches          map[string]float64 `json:"watches"`
	ServerLiveKiB    int                `json:"serverLiveKiB"`
	ServerGoroutines int                `json:"serverGoroutines"`
}

// Since returns what was used since an earlier reading.
func (r Reading) Since(before Reading) Used {
	u := Used{
		Seconds:    r.At.Sub(before.At).Seconds(),
		CPUSeconds: r.CPUSeconds - before.CPUSeconds, RSSKiB: r.RSSKiB,
		Received: r.Received - before.Received, Sent: r.Sent - before.Sent, Connections: r.Connections,
		ComponentCPUSeconds: map[string]float64{}, ComponentRSSKiB: map[string]int{},
		WatchEvents: more(r.Server.WatchEvents, before.Server.WatchEvents),
		WatchBytes:  more(r.Server.WatchBytes, before.Server.WatchBytes),
		Writes:      r.Server.Writes - before.Server.Writes,
		Watches:     maps.Clone(r.Server.Watches), ServerLiveKiB: r.Server.LiveKiB, ServerGoroutines: r.Server.Goroutines,
	}
	if all := r.MachineAll - before.MachineAll; all > 0 {
		u.MachineBusy = (r.MachineBusy - before.MachineBusy) / all
	}
	for name, c := range r.Components {
		u.ComponentCPUSeconds[name] = c.CPUSeconds - before.Components[name].CPUSeconds
		u.ComponentRSSKiB[name] = c.RSSKiB
	}
	return u
}

// more returns by how much counters have grown. Those that have not are left out.
func more(now, before map[string]float64) map[string]float64 {
	grown := map[string]float64{}
	for key, value := range now {
		if value > before[key] {
			grown[key] = value - before[key]
		}
	}
	return grown
}

// Sum returns the sum of all values.
func Sum(values map[string]float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}
