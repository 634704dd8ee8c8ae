// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// ErrUnevictable is what the error of EvictPod wraps for a pod that evictions are not for: a pod of a DaemonSet, which
// would start it again on its node, or a pod that a kubelet runs from a file.
var ErrUnevictable = errors.New("the pod cannot be evicted")

// PodProgress is the progress of one EvictPod.
type PodProgress struct {
	// Blocker is what holds the pod up. Its Reason is empty where nothing does.
	Blocker Blocker
	// Ends is when the grace period of the pod is over, once the pod is terminating. Zero before.
	Ends time.Time
}

// EvictPod evicts one pod, whichever node it is on and whether that is cordoned or not, and returns nil when the pod is
// gone or has ended by itself (its phase is Succeeded or Failed). Until then it blocks, and waits within every budget, as
// Drain does; for a pod that is terminating already it only waits. The pod is the one with the UID: another pod that has
// got its name meanwhile is not touched. Its grace period is its own.
//
// It returns an error that wraps ErrUnevictable if that is what the pod is, or context.Cause(ctx) if ctx ends. After ctx
// has ended no eviction is sent; see Drain for one that is on its way.
//
// It is made for many calls at a time, one for each pod: all calls for the pods of a namespace share one loop, one watch of
// pods and one of budgets. So it needs more permissions than a kubelet has: list and watch on pods of the namespace. Rules,
// OwnNamespace and all that Request says are of Drain alone: here, pods wait for budgets only.
//
// tell, if not nil, is called with each change of what holds the pod up; where only the text of a Blocker changes, every
// three minutes at most. It is called by this goroutine.
func (d *Drainer) EvictPod(ctx context.Context, pod types.NamespacedName, uid types.UID, tell func(PodProgress)) error {
	if pod.Namespace == "" || pod.Name == "" || uid == "" {
		return fmt.Errorf("drain: EvictPod needs the namespace, name and UID of a pod, not %q, %q and %q", pod.Namespace, pod.Name, uid)
	}
	if tell == nil {
		tell = func(PodProgress) {}
	}
	p, err := d.pods.begin(ctx, pod, uid)
	if err != nil {
		return err
	}
	defer d.pods.end(p)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-p.over:
			return err
		case progress := <-p.news:
			tell(progress)
		case <-p.unseen:
			if d.isGone(ctx, p, tell) {
				return nil
			}
		}
	}
}

// pendingEviction is one call of EvictPod.
type pendingEviction struct {
	pod types.NamespacedName
	uid types.UID
	in  *podLoop
	// live is the caller's context. What has been sent ends with wire.
	live, wire context.Context //nolint:containedctx // each pod has its own, and one loop sends for all
	cut        context.CancelFunc

	// What the loop tells the caller: the progress, the end, and that the watch does not show the pod.
	news   chan PodProgress
	over   chan error
	unseen watchstore.Signal
	// dropped is closed when nothing is done for the pod any more.
	dropped chan struct{}

	// left: the caller waits for the end. It is guarded by podLoop.mu; all that follows belongs to the loop.
	left bool
	// seen is the newest version of the pod. Nil: the watch has not shown it.
	seen *corev1.Pod
	// asked is the list of pods after which the caller was told that the pod is not seen.
	asked int
	// reported is what the caller was told last, and when.
	reported   PodProgress
	reportedAt time.Time
	// ended: nothing more is sent.
	ended bool
}

// report gives the caller the newest progress, in the place of one that it has not heard yet.
func (p *pendingEviction) report(progress PodProgress) {
	select {
	case <-p.news:
	default:
	}
	p.news <- progress // never blocks: only the loop sends
}

// podEvictions are the calls of EvictPod: a loop for each namespace, from its first call to its last.
type podEvictions struct {
	d  *Drainer
	mu sync.Mutex
	by map[string]*podLoop
}

// begin adds a pod.
func (all *podEvictions) begin(ctx context.Context, pod types.NamespacedName, uid types.UID) (*pendingEviction, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	in := all.by[pod.Namespace]
	if in == nil {
		// It may outlive the call that began it, and logs for others, too.
		in = startPodLoop(klog.NewContext(context.WithoutCancel(ctx), klog.Background()), all.d, pod.Namespace)
		all.by[pod.Namespace] = in
	}
	wire, cut := context.WithCancel(context.WithoutCancel(ctx))
	p := &pendingEviction{
		pod: pod, uid: uid, in: in, live: ctx, wire: wire, cut: cut,
		news: make(chan PodProgress, 1), over: make(chan error, 1), unseen: watchstore.NewSignal(), dropped: make(chan struct{}),
	}
	if !in.add(p) {
		cut()
		return nil, fmt.Errorf("drain: pod %s (UID %s) is being evicted already", pod, uid)
	}
	in.calls++
	return p, nil
}

// end returns when nothing is done for the pod any more. The last call waits for the end of the loop.
func (all *podEvictions) end(p *pendingEviction) {
	p.in.leave(p)
	all.settle(p)
	all.mu.Lock()
	p.in.calls--
	last := p.in.calls == 0
	if last {
		delete(all.by, p.in.namespace)
	}
	all.mu.Unlock()
	if last {
		p.in.stop()
	}
}

// settle waits for an eviction that is on its way, and cuts it off if that takes long.
func (all *podEvictions) settle(p *pendingEviction) {
	defer p.cut()
	timer := all.d.config.Clock.NewTimer(settleFor)
	defer timer.Stop()
	select {
	case <-p.dropped:
		return
	case <-timer.C():
	}
	p.cut()
	<-p.dropped
}

// isGone asks the server for a pod that the watch has not shown: the watch may be about to show a pod that has just started.
func (d *Drainer) isGone(ctx context.Context, p *pendingEviction, tell func(PodProgress)) bool {
	var last readAttempt
	var since time.Time
	for ctx.Err() == nil {
		exists, err := d.exists(ctx, p)
		if err == nil {
			if last.err != nil {
				tell(PodProgress{})
			}
			return !exists
		}
		now := d.config.Clock.Now()
		if since.IsZero() {
			since = now.Round(0)
		}
		o := unreadable("pod "+p.pod.String(), err)
		tell(PodProgress{Blocker: Blocker{Pod: p.pod, Reason: o.reason, By: o.by, Message: o.message, Since: since}})
		last = last.after(err, now, rand.Float64())
		d.rest(ctx, last.notBefore.Sub(now))
	}
	return false
}

// exists needs no more permissions than the watch does.
func (d *Drainer) exists(ctx context.Context, p *pendingEviction) (bool, error) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	list, err := d.config.Pods.Pods(p.pod.Namespace).List(look, metav1.ListOptions{FieldSelector: named(p.pod.Name)})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return pod.UID == p.uid }), nil
}

// rest waits for a time, or until ctx ends.
func (d *Drainer) rest(ctx context.Context, pause time.Duration) {
	timer := d.config.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// unevictable says why evictions are not for a pod. Nil: they are.
func unevictable(pod *corev1.Pod) error {
	switch {
	case isMirror(pod):
		return fmt.Errorf("%w: the kubelet of node %s runs it from a file; remove the file there", ErrUnevictable, pod.Spec.NodeName)
	case typeOf(pod) == PodTypeDaemonSet:
		return fmt.Errorf("%w: its DaemonSet %s would start it again on the same node; change the DaemonSet, or delete the pod",
			ErrUnevictable, metav1.GetControllerOfNoCopy(pod).Name)
	default:
		return nil
	}
}
