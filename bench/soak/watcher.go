// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

// period is how often memory is looked at.
const period = 100 * time.Millisecond

// watcher looks at a process's memory until it is stopped, and knows what had been used when it
// began.
type watcher struct {
	meter  *meter.Meter
	before meter.Reading
	stop   context.CancelFunc
	done   chan struct{}
	most   int // KiB
	err    error
}

// watchProcess begins to watch a process.
func (g *stage) watchProcess(ctx context.Context, pid int) (*watcher, error) {
	w := &watcher{meter: &meter.Meter{PID: pid, Components: g.components, Admin: g.clients.CoreV1().RESTClient()}, done: make(chan struct{})}
	var err error
	if w.before, err = w.meter.Read(ctx); err != nil {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(ctx)
	go w.look(ctx, pid)
	return w, nil
}

func (w *watcher) look(ctx context.Context, pid int) {
	defer close(w.done)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		kib, err := proc.Memory(pid, "VmRSS")
		if err != nil {
			w.err = err
			return
		}
		w.most = max(w.most, kib)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// collected notes what the API server has alive: garbage is collected before.
func (w *watcher) collected(ctx context.Context, m *measured) (err error) {
	m.Used.ServerLiveKiB, err = w.meter.Collect(ctx)
	return err
}

// end stops watching, and notes what was seen.
func (w *watcher) end(ctx context.Context, m *measured) error {
	w.stop()
	<-w.done
	if w.err != nil {
		return w.err
	}
	after, err := w.meter.Read(ctx)
	if err != nil {
		return err
	}
	used := after.Since(w.before)
	m.began, m.ended, m.Seconds = w.before.At, after.At, used.Seconds
	m.MostKiB, m.Used = w.most, &used
	return nil
}
