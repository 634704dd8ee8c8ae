// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// The metrics of the API server (k8s.io/apiserver, pkg/endpoints/metrics and pkg/storage/etcd3/metrics).
const (
	watchEvents  = "apiserver_watch_events_total"
	watchBytes   = "apiserver_watch_events_sizes"
	longRunning  = "apiserver_longrunning_requests"
	etcdRequests = "etcd_requests_total"
	// Of the Go runtime: the bytes that were alive at the last garbage collection.
	liveHeap   = "go_gc_heap_live_bytes"
	stacks     = "go_memstats_stack_inuse_bytes"
	goroutines = "go_goroutines"
)

// Meter reads the use of resources by a process, the control plane and the machine.
type Meter struct {
	// PID is the process. 0: no process.
	PID int
	// Components are the processes of the control plane, by name.
	Components map[string]int
	// Admin may read the API server's metrics. Nil: these are not read.
	Admin rest.Interface
}

// Used is the use of resources between two readings, or until one, and the state at the later one.
type Used struct {
	Seconds float64 `json:"seconds"`
	// CPUSeconds, Received and Sent (in bytes) are the process's; RSSKiB is its memory at the end, and
	// Connections its TCP connections then.
	CPUSeconds  float64 `json:"cpuSeconds"`
	RSSKiB      int     `json:"rssKiB"`
	Received    int64   `json:"received"`
	Sent        int64   `json:"sent"`
	Connections int     `json:"connections"`
	// MachineBusy is the share of all cores that were busy, with any program.
	MachineBusy float64 `json:"-"`
	// ComponentCPUSeconds and ComponentRSSKiB measure the control plane, by component.
	ComponentCPUSeconds map[string]float64 `json:"componentCPUSeconds"`
	ComponentRSSKiB     map[string]int     `json:"componentRSSKiB"`
	// WatchEvents and WatchBytes were sent to all watchers, by resource; Writes went to etcd.
	WatchEvents map[string]float64 `json:"watchEvents"`
	WatchBytes  map[string]float64 `json:"watchBytes"`
	Writes      float64            `json:"writes"`
	// Watches were open at the end. ServerLiveKiB is the live heap of the API server, as known without a garbage
	// collection, and the stacks of its goroutines.
	Watches          map[string]float64 `json:"watches"`
	ServerLiveKiB    int                `json:"serverLiveKiB"`
	ServerGoroutines int                `json:"serverGoroutines"`

	at                      time.Time
	machineBusy, machineAll float64 // seconds of CPU time of all cores
}

// Read reads the use of resources since the processes began.
func (m *Meter) Read(ctx context.Context) (u Used, err error) {
	u = Used{at: time.Now(), ComponentCPUSeconds: map[string]float64{}, ComponentRSSKiB: map[string]int{}}
	if u.machineBusy, u.machineAll, err = machine(); err != nil {
		return u, fmt.Errorf("measure the machine: %w", err)
	}
	for name, pid := range m.Components {
		p, err := ReadProcess(pid)
		if err != nil {
			return u, fmt.Errorf("measure %s: %w", name, err)
		}
		u.ComponentCPUSeconds[name], u.ComponentRSSKiB[name] = p.CPUSeconds, p.RSSKiB
	}
	if m.PID != 0 {
		if err := u.readProcess(m.PID); err != nil {
			return u, fmt.Errorf("measure the process: %w", err)
		}
	}
	if m.Admin == nil {
		return u, nil
	}
	text, err := m.Admin.Get().AbsPath("/metrics").DoRaw(ctx)
	if err == nil {
		err = u.readServer(bytes.NewReader(text))
	}
	if err != nil {
		return u, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return u, nil
}

func (u *Used) readProcess(pid int) error {
	p, err := ReadProcess(pid)
	if err != nil {
		return err
	}
	u.CPUSeconds, u.RSSKiB = p.CPUSeconds, p.RSSKiB
	if u.Received, u.Sent, err = traffic(pid); err != nil {
		return err
	}
	u.Connections, err = connections(pid)
	return err
}

// Collect makes the API server collect its garbage, which a profile of its heap does first, and returns its live heap
// afterwards. This takes CPU time of the API server: measure no other process meanwhile.
func (m *Meter) Collect(ctx context.Context) (liveKiB int, err error) {
	if _, err := m.Admin.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx); err != nil {
		return 0, fmt.Errorf("make the API server collect its garbage: %w", err)
	}
	u, err := m.Read(ctx)
	return u.ServerLiveKiB, err
}

// families are metrics by their name.
type families map[string]*dto.MetricFamily

func parse(text io.Reader, required ...string) (families, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	for _, name := range required {
		if found[name] == nil {
			return nil, fmt.Errorf("there is no metric %s", name)
		}
	}
	return found, nil
}

// by sums the values of a metric by a label, of the samples in which another label has one of the
// values. Sums of 0 are left out.
func (f families) by(name, label, where string, values ...string) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range f[name].GetMetric() {
		labels := map[string]string{}
		for _, pair := range m.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		wanted := len(values) == 0
		for _, value := range values {
			wanted = wanted || labels[where] == value
		}
		value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() + m.GetHistogram().GetSampleSum()
		if wanted && value != 0 {
			sums[labels[label]] += value
		}
	}
	return sums
}

func (u *Used) readServer(text io.Reader) error {
	found, err := parse(text, watchEvents, watchBytes, longRunning, etcdRequests, goroutines)
	if err != nil {
		return err
	}
	u.WatchEvents, u.WatchBytes = found.by(watchEvents, "resource", ""), found.by(watchBytes, "resource", "")
	u.Watches = found.by(longRunning, "resource", "verb", "WATCH")
	u.Writes = Sum(found.by(etcdRequests, "", "operation", "create", "update", "delete"))
	u.ServerLiveKiB = int(Sum(found.by(liveHeap, "", ""))+Sum(found.by(stacks, "", ""))) / 1024
	u.ServerGoroutines = int(Sum(found.by(goroutines, "", "")))
	return nil
}

// Self has the metrics of a Go process about itself, from /metrics.
type Self struct {
	LiveKiB    int `json:"liveKiB"`
	Goroutines int `json:"goroutines"`
}

// ReadSelf reads it from an address of host and port.
func ReadSelf(ctx context.Context, address string) (Self, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return Self{}, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return Self{}, fmt.Errorf("read the metrics of a process: %w", err)
	}
	found, err := parse(answer.Body, liveHeap, goroutines)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return Self{}, fmt.Errorf("read the metrics at %s: %w", address, err)
	}
	return Self{LiveKiB: int(Sum(found.by(liveHeap, "", ""))) / 1024, Goroutines: int(Sum(found.by(goroutines, "", "")))}, nil
}

// Since returns the use of resources since an earlier reading, and the present state.
func (u Used) Since(before Used) Used {
	u.Seconds = u.at.Sub(before.at).Seconds()
	u.CPUSeconds -= before.CPUSeconds
	u.Received -= before.Received
	u.Sent -= before.Sent
	u.Writes -= before.Writes
	if all := u.machineAll - before.machineAll; all > 0 {
		u.MachineBusy = (u.machineBusy - before.machineBusy) / all
	}
	u.WatchEvents, u.WatchBytes = Minus(u.WatchEvents, before.WatchEvents, 1), Minus(u.WatchBytes, before.WatchBytes, 1)
	u.ComponentCPUSeconds = Minus(u.ComponentCPUSeconds, before.ComponentCPUSeconds, 1)
	return u
}

// Minus returns values minus a share of further values.
func Minus(values, others map[string]float64, share float64) map[string]float64 {
	left := map[string]float64{}
	for key, value := range values {
		left[key] = value - others[key]*share
	}
	return left
}

// Sum returns the sum of all values.
func Sum(values map[string]float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}
