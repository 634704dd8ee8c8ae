// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// linger is how long a namespace is watched when there is nothing more to do: a drain's
// next pod is often in the same.
const linger = time.Minute

// namespace is the work on one namespace.
type namespace struct {
	name    string
	surger  *Surger
	watches *watches
	turns   turns
	changed chan struct{} // has something in it after each change

	// These belong to run.
	written map[types.UID]*corev1.Pod // by us, and not shown by the watch yet
	letGo   map[types.UID]bool        // the turn is completed, which the watch may not show yet
	told    map[types.UID]bool        // it is logged that nothing can be done about the pod
}

func newNamespace(s *Surger, name string) *namespace {
	return &namespace{
		name: name, surger: s, changed: make(chan struct{}, 1), turns: turns{of: map[types.UID]*turn{}},
		written: map[types.UID]*corev1.Pod{}, letGo: map[types.UID]bool{}, told: map[types.UID]bool{},
	}
}

func (n *namespace) join(t *turn) {
	n.turns.add(t)
	n.signal()
}

func (n *namespace) leave(t *turn) {
	n.turns.remove(t)
	n.signal()
}

func (n *namespace) hasTurns() bool { return len(n.turns.all()) > 0 }

func (n *namespace) signal() {
	select {
	case n.changed <- struct{}{}:
	default: // it is awake
	}
}

// run works on the namespace until there is nothing more to do, or ctx ends.
func (n *namespace) run(ctx context.Context) {
	ctx, stop := context.WithCancel(log.IntoContext(ctx, log.FromContext(ctx).WithValues("namespace", n.name)))
	n.watches = newWatches(n.surger.clients, n.name, n.signal)
	defer n.watches.shutdown()
	defer stop()
	if !n.watches.start(ctx) {
		return
	}
	var idle time.Time
	trouble := freshTrouble()
	for ctx.Err() == nil {
		busy, wake, err := guarded(ctx, n.pass)
		now := n.surger.clock.Now()
		switch {
		case err != nil && ctx.Err() == nil:
			log.FromContext(ctx).Error(err, "Failed; trying again")
			if again := now.Add(trouble.Step()); wake.IsZero() || again.Before(wake) {
				wake = again
			}
		default:
			trouble = freshTrouble()
		}
		switch {
		case busy || err != nil:
			idle = time.Time{}
		case idle.IsZero():
			idle = now
			fallthrough
		default:
			wake = idle.Add(linger)
		}
		if !idle.IsZero() && !now.Before(idle.Add(linger)) && n.surger.close(n) {
			return
		}
		n.await(ctx, wake)
	}
}

// guarded makes an error of a panic: what is in one namespace must not end the work on the
// others.
func guarded(ctx context.Context, pass func(context.Context) (bool, time.Time, error)) (busy bool, wake time.Time, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the surge responder panicked: %v", value)
			log.FromContext(ctx).Error(err, "Panicked; please report this", "stack", string(debug.Stack()))
		}
	}()
	return pass(ctx)
}

func freshTrouble() *wait.Backoff {
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}
}

// await returns when something has changed, or at the given time, if there is one.
func (n *namespace) await(ctx context.Context, wake time.Time) {
	var due <-chan time.Time
	if !wake.IsZero() {
		timer := n.surger.clock.NewTimer(max(0, wake.Sub(n.surger.clock.Now())))
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-n.changed:
	case <-due:
	case <-ctx.Done():
	}
}
