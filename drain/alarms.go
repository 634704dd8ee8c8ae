// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"container/heap"
	"iter"
	"time"
)

// alarms are when groups are to be looked at again. One that is not what its group waits for any more means nothing.
type alarms struct{ queue alarmQueue }

type alarm struct {
	at time.Time
	of *group
}

// set wakes a group then, at the latest. Zero is never.
func (a *alarms) set(g *group, at time.Time) {
	if at.IsZero() || !g.wake.IsZero() && !at.Before(g.wake) {
		return
	}
	g.wake = at
	heap.Push(&a.queue, alarm{at, g})
}

// next is when the next alarm goes off. Zero is never.
func (a *alarms) next() time.Time {
	for len(a.queue) > 0 {
		if first := a.queue[0]; first.of.wake.Equal(first.at) && len(first.of.members) > 0 {
			return first.at
		}
		heap.Pop(&a.queue)
	}
	return time.Time{}
}

// due takes out what goes off by now.
func (a *alarms) due(now time.Time) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for at := a.next(); !at.IsZero() && !at.After(now); at = a.next() {
			g := heap.Pop(&a.queue).(alarm).of
			g.wake = time.Time{}
			if !yield(g) {
				return
			}
		}
	}
}

// alarmQueue implements heap.Interface.
type alarmQueue []alarm

func (q alarmQueue) Len() int           { return len(q) }
func (q alarmQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q alarmQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *alarmQueue) Push(x any)        { *q = append(*q, x.(alarm)) }
func (q *alarmQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
