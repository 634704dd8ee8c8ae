// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Reporter writes a line for each step. Its methods may be called at the same time, and on a
// nil Reporter, which writes nothing.
type Reporter struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// New returns a reporter that counts the time from now.
func New(out io.Writer) *Reporter {
	return &Reporter{out: out, start: time.Now()}
}

// Step reports what begins now.
func (r *Reporter) Step(format string, values ...any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A failed write of progress has no place to be reported.
	_, _ = fmt.Fprintf(r.out, "%6.1fs  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, values...))
}

// Await calls check until done is true, and returns its error. Before that, its error is the reason to wait: Await
// reports the reason every few seconds, and returns it when ctx is done.
func (r *Reporter) Await(ctx context.Context, every time.Duration, check func(context.Context) (done bool, err error)) error {
	const remind = 5 * time.Second
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	reported := time.Now()
	var reason error
	for {
		done, err := check(ctx)
		if done {
			return err
		}
		if ctx.Err() == nil || reason == nil { // that the time is up explains nothing
			reason = err
		}
		if time.Since(reported) > remind {
			r.Step("waiting: %v", reason)
			reported = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), reason)
		case <-ticker.C:
		}
	}
}
