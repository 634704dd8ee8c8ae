// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress reports what a benchmark does, with the seconds since it began.
type Progress struct {
	began time.Time

	mu  sync.Mutex
	out io.Writer
}

// NewProgress returns a Progress that writes to out.
func NewProgress(out io.Writer) *Progress { return &Progress{began: time.Now(), out: out} }

// Printf writes a line.
func (p *Progress) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "bench: %5.0f s  %s\n", p.Elapsed().Seconds(), fmt.Sprintf(format, args...))
}

// Elapsed returns the time since the benchmark began.
func (p *Progress) Elapsed() time.Duration { return time.Since(p.began) }

// During runs a step, and reports every ten seconds that the step still runs.
func (p *Progress) During(what string, step func() error) error {
	const period = 10 * time.Second
	p.Printf("%s", what)
	ended := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.Printf("still %s", what)
			case <-ended:
				return
			}
		}
	})
	err := step()
	close(ended)
	reporting.Wait()
	return err
}

// Pause returns after a time, in which a process is at rest.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
