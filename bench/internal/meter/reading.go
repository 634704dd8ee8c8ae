// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

// The metrics of the API server (k8s.io/apiserver, pkg/endpoints/metrics and pkg/storage/etcd3/metrics).
const (
	watchEvents  = "apiserver_watch_events_total"
	watchBytes   = "apiserver_watch_events_sizes_sum"
	longRunning  = "apiserver_longrunning_requests"
	etcdRequests = "etcd_requests_total"
	// Of the Go runtime: what was alive when garbage was last collected, in bytes.
	liveHeap   = "go_gc_heap_live_bytes"
	stacks     = "go_memstats_stack_inuse_bytes"
	goroutines = "go_goroutines"
)

// Meter reads what a process and the control plane have used.
type Meter struct {
	// PID is the process. 0: there is none yet.
	PID int
	// Components are the processes of the control plane, by name.
	Components map[string]int
	// Admin may read the API server's metrics.
	Admin rest.Interface
}

// Reading is what was used up to a moment, and what there was at that moment.
type Reading struct {
	At             time.Time
	CPUSeconds     float64
	RSSKiB         int
	Received, Sent int64
	Connections    int

	Components map[string]Component
	Server     Server
}

// Component is a process of the control plane.
type Component struct {
	CPUSeconds float64
	RSSKiB     int
}

// Server is what the API server says of itself.
type Server struct {
	// WatchEvents and WatchBytes are what it has sent to all who watch, by resource.
	WatchEvents, WatchBytes map[string]float64
	// Writes are its writes to etcd.
	Writes float64
	// Watches are those that are open, by resource.
	Watches map[string]float64
	// LiveKiB is what of its heap was alive at its last garbage collection, and the stacks of its goroutines.
	LiveKiB    int
	Goroutines int
}

// Read reads all of it, now.
func (m *Meter) Read(ctx context.Context) (Reading, error) {
	r := Reading{At: time.Now(), Components: map[string]Component{}}
	for name, pid := range m.Components {
		c, err := component(pid)
		if err != nil {
			return r, fmt.Errorf("measure %s: %w", name, err)
		}
		r.Components[name] = c
	}
	if err := m.readProcess(&r); err != nil {
		return r, fmt.Errorf("measure the process: %w", err)
	}
	text, err := m.Admin.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return r, fmt.Errorf("read the API server's metrics: %w", err)
	}
	r.Server, err = server(string(text))
	return r, err
}

// Collect has the API server collect its garbage, which a profile of its heap does before, and reads what is alive
// then. It takes CPU time of the API server: nothing is to be measured meanwhile.
func (m *Meter) Collect(ctx context.Context) (liveKiB int, err error) {
	if _, err := m.Admin.Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx); err != nil {
		return 0, fmt.Errorf("have the API server collect its garbage: %w", err)
	}
	r, err := m.Read(ctx)
	return r.Server.LiveKiB, err
}

func component(pid int) (c Component, err error) {
	if c.CPUSeconds, err = proc.CPU(pid); err != nil {
		return c, err
	}
	c.RSSKiB, err = proc.Memory(pid, "VmRSS")
	return c, err
}

func (m *Meter) readProcess(r *Reading) (err error) {
	if m.PID == 0 {
		return nil
	}
	if r.CPUSeconds, err = proc.CPU(m.PID); err != nil {
		return err
	}
	if r.RSSKiB, err = proc.Memory(m.PID, "VmRSS"); err != nil {
		return err
	}
	if r.Received, r.Sent, err = proc.Traffic(m.PID); err != nil {
		return err
	}
	r.Connections, err = proc.Connections(m.PID)
	return err
}

// server reads the text of /metrics.
func server(text string) (Server, error) {
	found, err := scrape(text, watchEvents, watchBytes, longRunning, etcdRequests, liveHeap, stacks, goroutines)
	if err != nil {
		return Server{}, err
	}
	for _, name := range []string{watchEvents, watchBytes, longRunning, etcdRequests, goroutines} {
		if len(found[name]) == 0 {
			return Server{}, fmt.Errorf("read the API server's metrics: there is no %s", name)
		}
	}
	watches := func(labels map[string]string) bool { return labels["verb"] == "WATCH" }
	writes := func(labels map[string]string) bool {
		operation := labels["operation"]
		return operation == "create" || operation == "update" || operation == "delete"
	}
	return Server{
		WatchEvents: by(found[watchEvents], "resource", all),
		WatchBytes:  by(found[watchBytes], "resource", all),
		Watches:     by(found[longRunning], "resource", watches),
		Writes:      sum(found[etcdRequests], writes),
		LiveKiB:     int(sum(found[liveHeap], all)+sum(found[stacks], all)) / 1024,
		Goroutines:  int(sum(found[goroutines], all)),
	}, nil
}

// Self is what a process of Go says of itself at /metrics.
type Self struct {
	LiveKiB    int `json:"liveKiB"`
	Goroutines int `json:"goroutines"`
}

// ReadSelf reads it from an address, of host and port.
func ReadSelf(ctx context.Context, address string) (Self, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return Self{}, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return Self{}, fmt.Errorf("read the metrics of a process: %w", err)
	}
	text, err := io.ReadAll(answer.Body)
	err = errors.Join(err, answer.Body.Close())
	if err != nil {
		return Self{}, fmt.Errorf("read the metrics at %s: %w", address, err)
	}
	found, err := scrape(string(text), liveHeap, goroutines)
	if err != nil {
		return Self{}, err
	}
	if len(found[goroutines]) == 0 || len(found[liveHeap]) == 0 {
		return Self{}, fmt.Errorf("read the metrics at %s: there is no %s or no %s", address, goroutines, liveHeap)
	}
	return Self{LiveKiB: int(sum(found[liveHeap], all)) / 1024, Goroutines: int(sum(found[goroutines], all))}, nil
}
