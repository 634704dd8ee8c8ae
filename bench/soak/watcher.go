// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/controller"
)

// period is how often memory is looked at.
const period = 100 * time.Millisecond

// watcher looks at the controller's memory until it is stopped.
type watcher struct {
	stop context.CancelFunc
	done chan struct{}
	most int // KiB
	err  error
}

func watchMemory(ctx context.Context, c *controller.Process) *watcher {
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			kib, err := c.Memory("VmRSS")
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
	}()
	return w
}

// end stops watching, and returns the most memory that was seen, in KiB.
func (w *watcher) end() (int, error) {
	w.stop()
	<-w.done
	return w.most, w.err
}
