// SPDX-License-Identifier: Apache-2.0

package drain

import "time"

// passedOn is how many of the named pods others are told of: the first by namespace and name.
const passedOn = 500

// due is when the patience ends. Zero: it has not begun.
func (n naming) due() time.Time {
	if n.idle.IsZero() {
		return time.Time{}
	}
	return n.idle.Add(ResponderPatience)
}

// beginPatience begins to wait for those who can know of the pods from now on.
func (p *pacing) beginPatience(leaving []leaver) {
	if !p.told {
		return
	}
	for i, pod := range namedPods(leaving, p.named) {
		n := p.named[pod.UID]
		if !n.idle.IsZero() || i >= passedOn && n.eviction == "" {
			continue
		}
		n.idle = p.facts.now
		p.named[pod.UID] = n
		if p.idles[pod.UID] {
			p.wake = earlier(p.wake, n.due())
		}
	}
}
