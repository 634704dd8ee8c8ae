// SPDX-License-Identifier: Apache-2.0

package devcluster

// Component is a process of the control plane, such as etcd.
type Component struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// PIDs are the process ids of the control plane by the names of its components, as they were
// when it had started.
func (f Facts) PIDs() map[string]int {
	pids := map[string]int{}
	for _, c := range f.Components {
		pids[c.Name] = c.PID
	}
	return pids
}
