// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"
)

// rescanEvery is how often the directory is read when nothing was heard from fsnotify.
const rescanEvery = 10 * time.Second

// errAlreadyRun: a registry is run once.
var errAlreadyRun = errors.New("the registry is running or was run before")

// Run follows the registration directory until ctx ends. It fails only if the
// directory cannot be made; what goes wrong later is logged, and tried again. When it
// returns, no driver is registered and nothing goes on. It can be called once.
func (r *Registry) Run(ctx context.Context) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("make registration directory: %w", err)
	}
	if err := r.begin(klog.FromContext(ctx)); err != nil {
		return err
	}
	w := &watch{registry: r, logger: klog.FromContext(ctx), followers: map[string]*follower{}}
	w.open()
	defer r.end()
	defer w.close()

	ticker := r.clock.NewTicker(r.rescan)
	defer ticker.Stop()
	for {
		w.rescan(ctx)
		if !w.sleep(ctx, ticker.C()) {
			return nil
		}
	}
}

func (r *Registry) begin(logger klog.Logger) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() {
		return errAlreadyRun
	}
	r.running, r.since, r.logger = true, r.clock.Now(), logger
	return nil
}

// end waits for the checks. They were canceled when the followers deregistered.
func (r *Registry) end() {
	r.mu.Lock()
	r.running = false
	r.mu.Unlock()
	r.checks.Wait()
}
