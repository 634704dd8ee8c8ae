// SPDX-License-Identifier: Apache-2.0

// Package progress tells a waiting person what is being done, and since when.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Reporter writes a line per step. Its methods may be called at the same time,
// and on a nil Reporter, which says nothing.
type Reporter struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// New returns a reporter that counts the time from now.
func New(out io.Writer) *Reporter {
	return &Reporter{out: out, start: time.Now()}
}

// Step reports what is done from now on.
func (r *Reporter) Step(format string, values ...any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Nobody can be told that progress cannot be written.
	_, _ = fmt.Fprintf(r.out, "%6.1fs  %s\n", r.Elapsed().Seconds(), fmt.Sprintf(format, values...))
}

// Elapsed is the time since the reporter was made.
func (r *Reporter) Elapsed() time.Duration {
	if r == nil {
		return 0
	}
	return time.Since(r.start)
}
