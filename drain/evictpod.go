// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// ErrUnevictable is wrapped by the error of EvictPod for a pod that evictions cannot move: a pod of a DaemonSet, which would
// start it again on its node, or a pod that a kubelet runs from a file.
var ErrUnevictable = errors.New("the pod cannot be evicted")

// PodProgress is the progress of one EvictPod.
type PodProgress struct {
	// Blocker blocks the pod. Its Reason is empty if the pod is not blocked.
	Blocker Blocker
	// Ends is the end of the grace period of a terminating pod. Zero: the pod is not terminating.
	Ends time.Time
}

// EvictPod evicts one pod on any node, cordoned or not, and returns nil when the pod does not exist or has ended by itself (its
// phase is Succeeded or Failed). Until then it blocks, and waits within every budget, as Drain does; for a terminating pod it
// only waits. The UID identifies the pod: EvictPod leaves another pod of the same name alone. The grace period is the pod's.
//
// It returns an error that wraps ErrUnevictable for such a pod, or context.Cause(ctx) if ctx ends. After ctx has ended EvictPod
// sends no eviction; see Drain for evictions in flight.
//
// It is made for many calls at a time, one for each pod: all calls for the pods of a namespace share one loop, one watch of
// pods and one of budgets. So it needs more permissions than a kubelet has: list and watch on pods of the namespace. Rules,
// OwnNamespace and all of Request apply to Drain alone: here, pods wait for budgets only.
//
// report, if not nil, is called with each change of the progress; if only the text of a Blocker changes, every three minutes
// at most. This goroutine calls it.
func (d *Drainer) EvictPod(ctx context.Context, pod types.NamespacedName, uid types.UID, report func(PodProgress)) error {
	if pod.Namespace == "" || pod.Name == "" || uid == "" {
		return fmt.Errorf("drain: EvictPod needs the namespace, name and UID of a pod, not %q, %q and %q", pod.Namespace, pod.Name, uid)
	}
	if report == nil {
		report = func(PodProgress) {}
	}
	p, err := d.beginEviction(ctx, pod, uid)
	if err != nil {
		return err
	}
	defer d.endEviction(p)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-p.over:
			return err
		case progress := <-p.news:
			report(progress)
		case <-p.unseen:
			if d.isGone(ctx, p, report) {
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
	// live is the caller's context. A sent request ends with wire.
	live, wire context.Context //nolint:containedctx // each pod has its own, and one loop sends for all
	cut        context.CancelFunc
	// leave ends the use of the loop.
	leave func()

	// The loop sends the progress, the end, and a signal if the watch does not show the pod.
	news   chan PodProgress
	over   chan error
	unseen watchstore.Signal
	// dropped is closed when the loop has finished with the pod.
	dropped chan struct{}

	// left: the caller waits for the end. podLoop.mu guards it; the following fields belong to the loop.
	left bool
	// seen is the newest version of the pod. Nil: the watch has not shown it.
	seen *corev1.Pod
	// checked is the list of pods after which the caller checked whether the pod exists.
	checked int
	// reported is the last report to the caller.
	reported   PodProgress
	reportedAt time.Time
	// ended: the loop sends no further request.
	ended bool
}

// beginEviction adds a pod to the loop of its namespace.
func (d *Drainer) beginEviction(ctx context.Context, pod types.NamespacedName, uid types.UID) (*pendingEviction, error) {
	p := &pendingEviction{
		pod: pod, uid: uid, live: ctx,
		news: make(chan PodProgress, 1), over: make(chan error, 1), unseen: watchstore.NewSignal(), dropped: make(chan struct{}),
	}
	p.wire, p.cut = context.WithCancel(context.WithoutCancel(ctx))
	p.in, p.leave = d.pods.Join(pod.Namespace, p, func() (*podLoop, func()) {
		// It may outlive the call that began it, and logs for other calls, too.
		return startPodLoop(klog.NewContext(context.WithoutCancel(ctx), klog.Background()), d, pod.Namespace)
	})
	if !p.in.add(p) {
		p.cut()
		p.leave()
		return nil, fmt.Errorf("drain: pod %s (UID %s) is being evicted already", pod, uid)
	}
	return p, nil
}

// endEviction returns when the loop has finished with the pod. It waits for an eviction in flight, and cuts it off if that
// takes long.
func (d *Drainer) endEviction(p *pendingEviction) {
	defer p.leave()
	defer p.cut()
	p.in.leave(p)
	timer := d.config.Clock.NewTimer(settleFor)
	defer timer.Stop()
	select {
	case <-p.dropped:
	case <-timer.C():
		p.cut()
		<-p.dropped
	}
}

// isGone reads a pod that the watch has not shown: the watch may be about to show a pod that has just started.
func (d *Drainer) isGone(ctx context.Context, p *pendingEviction, report func(PodProgress)) bool {
	var last readAttempt
	var since time.Time
	for ctx.Err() == nil {
		look, cancel := context.WithTimeout(ctx, lookTimeout)
		// A list needs only the permissions of the watch.
		list, err := d.config.Pods.Pods(p.pod.Namespace).List(look, metav1.ListOptions{FieldSelector: named(p.pod.Name)})
		cancel()
		if err == nil {
			if last.err != nil {
				report(PodProgress{})
			}
			return !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return pod.UID == p.uid })
		}
		now := d.config.Clock.Now()
		if since.IsZero() {
			since = now.Round(0)
		}
		o := unreadable("pod "+p.pod.String(), err)
		report(PodProgress{Blocker: Blocker{Pod: p.pod, Reason: o.reason, By: o.by, Message: o.message, Since: since}})
		last = last.after(err, now, rand.Float64())
		d.rest(ctx, last.notBefore.Sub(now))
	}
	return false
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

// unevictable returns an error for a pod that evictions cannot move.
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
