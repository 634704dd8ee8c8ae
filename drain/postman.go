// SPDX-License-Identifier: Apache-2.0

package drain

import "sync"

// postman brings each Status to the caller, one at a time, without holding up the drain: while a report is being
// worked on, only the newest Status is kept for the next.
type postman struct {
	report func(Status)
	wake   signal
	done   chan struct{}

	mu     sync.Mutex
	latest Status
	fresh  bool
	closed bool
}

func newPostman(report func(Status)) *postman {
	p := &postman{report: report, wake: newSignal(), done: make(chan struct{})}
	if report == nil {
		close(p.done)
		return p
	}
	go p.deliver()
	return p
}

// offer hands over a Status. It does not keep one that says the same as the last.
func (p *postman) offer(s Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest.equal(s) {
		return
	}
	p.latest, p.fresh = s, true
	p.wake.poke()
}

// close waits until the last Status is delivered.
func (p *postman) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wake.poke()
	<-p.done
}

func (p *postman) deliver() {
	defer close(p.done)
	for range p.wake {
		s, fresh, closed := p.next()
		if fresh {
			p.report(s)
		}
		if closed {
			return
		}
	}
}

func (p *postman) next() (s Status, fresh, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, fresh, closed = p.latest, p.fresh, p.closed
	p.fresh = false
	return s, fresh, closed
}
