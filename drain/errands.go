// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// errands are the calls of EvictPod. One loop works for all of them, from the first to the last.
type errands struct {
	d    *Drainer
	mu   sync.Mutex
	loop *errandLoop // nil: there is no errand
	// calls counts those for which the loop still does something.
	calls int
}

// errand is one call of EvictPod.
type errand struct {
	pod  types.NamespacedName
	uid  types.UID
	loop *errandLoop
	// live is the caller's context. What has been sent ends with wire.
	live, wire context.Context //nolint:containedctx // each pod has its own, and one loop sends for all
	cut        context.CancelFunc

	// What the loop tells the caller: how far it is, how it has ended, that the watch does not show the pod.
	news   chan PodProgress
	over   chan error
	unseen signal
	// dropped is closed when nothing is done for the pod any more.
	dropped chan struct{}

	// The rest is the loop's.
	ground *ground
	group  *group
	seen   *corev1.Pod // the newest; nil: the watch has not shown it
	// own is what holds the pod itself, and told what the caller knows.
	own    Blocker
	told   PodProgress
	toldAt time.Time
	// ended: nothing more is to be sent.
	ended bool
}

// begin adds a pod.
func (all *errands) begin(ctx context.Context, pod types.NamespacedName, uid types.UID) (*errand, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.loop == nil {
		// It may outlive the call that began it, and logs for others, too.
		all.loop = startErrandLoop(klog.NewContext(context.WithoutCancel(ctx), klog.Background()), all.d)
	}
	wire, cut := context.WithCancel(context.WithoutCancel(ctx))
	e := &errand{
		pod: pod, uid: uid, loop: all.loop, live: ctx, wire: wire, cut: cut,
		news: make(chan PodProgress, 1), over: make(chan error, 1), unseen: newSignal(), dropped: make(chan struct{}),
	}
	if !all.loop.begin(e) {
		cut()
		return nil, fmt.Errorf("drain: pod %s (UID %s) is being evicted already", pod, uid)
	}
	all.calls++
	return e, nil
}

// end returns when nothing is done for the pod any more. The last call waits for the end of the loop.
func (all *errands) end(e *errand) {
	e.loop.end(e)
	e.settle(all.d)
	all.mu.Lock()
	all.calls--
	last := all.calls == 0 // with nobody left in the loop
	if last {
		all.loop = nil
	}
	all.mu.Unlock()
	if last {
		e.loop.stop()
		<-e.loop.stopped
	}
}

// settle waits for an eviction that is on its way, and cuts it off if that takes long.
func (e *errand) settle(d *Drainer) {
	defer e.cut()
	timer := d.config.Clock.NewTimer(settleFor)
	defer timer.Stop()
	select {
	case <-e.dropped:
		return
	case <-timer.C():
	}
	e.cut()
	<-e.dropped
}

// report hands the caller what is new. What it has not heard yet, it need not hear any more.
func (e *errand) report(p PodProgress) {
	select {
	case <-e.news:
	default:
	}
	e.news <- p // never blocks: only the loop sends
}
