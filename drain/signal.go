// SPDX-License-Identifier: Apache-2.0

package drain

// signal wakes a loop. It carries nothing: whoever wakes looks at the facts.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// poke never blocks. Pokes that nobody has heeded yet become one.
func (s signal) poke() {
	select {
	case s <- struct{}{}:
	default:
	}
}
