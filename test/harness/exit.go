// SPDX-License-Identifier: Apache-2.0

package harness

import "time"

// AwaitExit waits until the program has ended by itself, and returns what it printed.
func (p *Process) AwaitExit() string {
	p.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		p.t.Fatalf("%s has not ended", p.name)
	}
	return p.Log()
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }
