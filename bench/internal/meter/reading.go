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

// Meter reads what a process, the control plane and the machine have used.
type Meter struct {
	// PID is the process. 0: there is none.
	PID int
	// Components are the processes of the control plane, by name.
	Components map[string]int
	// Admin may read the API server's metrics. Nil: these are not read.
	Admin rest.Interface
}

// Reading is what was used up to a moment, and what there was at that moment.
type Reading struct {
	At time.Time
	Process
	Received, Sent int64
	Connections    int
	// MachineBusy and MachineAll are seconds of CPU time of all cores.
	MachineBusy, MachineAll float64

	Components map[string]Process
	Server     Server
}

// Server is what the API server reports of itself.
type Server struct {
	// WatchEvents and WatchBytes are what it has sent to all watchers, by resource.
	WatchEvents, WatchBytes map[string]float64
	// Writes are its writes to etcd.
	Writes float64
	// Watches are those that are open, by resource.
	Watches map[string]float64
	// LiveKiB is the part of its heap that was alive at its last garbage collection, and the stacks of its goroutines.
	LiveKiB    int
	Goroutines int
}

// Read reads all of it, now.
func (m *Meter) Read(ctx context.Context) (r Reading, err error) {
	r = Reading{At: time.Now(), Components: map[string]Process{}}
	if r.MachineBusy, r.MachineAll, err = machine(); err != nil {
		return r, fmt.Errorf("measure the machine: %w", err)
	}
	for name, pid := range m.Components {
		if r.Components[name], err = ReadProcess(pid); err != nil {
			return r, fmt.Errorf("measure %s: %w", name, err)
		}
	}
	if m.PID != 0 {
		if err := m.readProcess(&r); err != nil {
			return r, fmt.Errorf("measure the process: %w", err)
		}
	}
	if m.Admin == nil {
		return r, nil
	}
	text, err := m.Admin.Get().AbsPath("/metrics").DoRaw(ctx)
	if err == nil {
		r.Server, err = server(bytes.NewReader(text))
	}
	if err != nil {
		return r, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return r, nil
}

func (m *Meter) readProcess(r *Reading) (err error) {
	if r.Process, err = ReadProcess(m.PID); err != nil {
		return err
	}
	if r.Received, r.Sent, err = traffic(m.PID); err != nil {
		return err
	}
	r.Connections, err = connections(m.PID)
	return err
}

// Collect makes the API server collect its garbage, which a profile of its heap does first, and
// reads what is alive then. This takes CPU time of the API server: measure nothing meanwhile.
func (m *Meter) Collect(ctx context.Context) (liveKiB int, err error) {
	if _, err := m.Admin.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx); err != nil {
		return 0, fmt.Errorf("make the API server collect its garbage: %w", err)
	}
	r, err := m.Read(ctx)
	return r.Server.LiveKiB, err
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

func server(text io.Reader) (Server, error) {
	found, err := parse(text, watchEvents, watchBytes, longRunning, etcdRequests, goroutines)
	if err != nil {
		return Server{}, err
	}
	return Server{
		WatchEvents: found.by(watchEvents, "resource", ""),
		WatchBytes:  found.by(watchBytes, "resource", ""),
		Watches:     found.by(longRunning, "resource", "verb", "WATCH"),
		Writes:      Sum(found.by(etcdRequests, "", "operation", "create", "update", "delete")),
		LiveKiB:     int(Sum(found.by(liveHeap, "", ""))+Sum(found.by(stacks, "", ""))) / 1024,
		Goroutines:  int(Sum(found.by(goroutines, "", ""))),
	}, nil
}

// Self is what a Go process reports of itself at /metrics.
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
