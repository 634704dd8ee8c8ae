// SPDX-License-Identifier: Apache-2.0

package logind

import (
	"time"
)

// patience bounds each wait of a test. Only a test that fails reaches it.
const patience = 3 * time.Minute

// Shutdown begins a shutdown. The channel gets its end, at which the machine would go down.
func (s *StandIn) Shutdown() <-chan Ending {
	s.t.Helper()
	s.mu.Lock()
	if s.shutdown != nil {
		s.mu.Unlock()
		s.t.Fatal("a shutdown has begun already")
	}
	begun := &shutdown{down: make(chan Ending, 1)}
	begun.limit = time.AfterFunc(s.delay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		begun.end(LimitReached)
	})
	s.shutdown = begun
	if s.locks == 0 {
		begun.end(Released)
	}
	s.mu.Unlock()
	s.emit(true)
	return begun.down
}

// CallOff calls the shutdown off, as after a program that hangs in it; or is the boot after it.
func (s *StandIn) CallOff() {
	s.t.Helper()
	s.CallOffUntold()
	s.emit(false)
}

// CallOffUntold calls it off as "shutdown -c" does since systemd 257: logind sends no signal.
func (s *StandIn) CallOffUntold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutdown != nil {
		s.shutdown.over = true
		s.shutdown.limit.Stop()
	}
	s.shutdown = nil
}

func (s *StandIn) emit(begins bool) {
	s.t.Helper()
	if err := s.conn.Emit(object, manager+".PrepareForShutdown", begins); err != nil {
		s.t.Fatal(err)
	}
}

// AwaitLocks waits until there are so many locks.
func (s *StandIn) AwaitLocks(many int) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		is, changed := s.locks, s.changed
		s.mu.Unlock()
		if is == many {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			s.t.Fatalf("logind has %d locks, not %d", is, many)
		}
	}
}

// AwaitDown waits until the machine goes down, and returns the reason.
func (s *StandIn) AwaitDown(down <-chan Ending) Ending {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case how := <-down:
		return how
	case <-deadline.C:
		s.t.Fatal("the machine does not go down")
		return ""
	}
}
