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
)

// ErrUnevictable is what the error of EvictPod wraps for a pod that evictions are not for: that of a DaemonSet, which
// would start it again on its node, or one that a kubelet runs from a file.
var ErrUnevictable = errors.New("the pod cannot be evicted")

// PodProgress is how far EvictPod is.
type PodProgress struct {
	// Blocker is what holds the pod up. Its Reason is empty where nothing does.
	Blocker Blocker
	// Ends is when the grace period of the pod is over, once it is ending. Zero before.
	Ends time.Time
}

// EvictPod evicts one pod, whichever node it is on and whether that is cordoned or not, and returns nil when the pod is
// gone or has ended by itself (its phase is Succeeded or Failed). Until then it blocks, and waits within every budget, as
// Drain does; a pod that is ending already is only waited for. The pod is the one with the UID: another that has got its
// name meanwhile is not touched. Its grace period is its own.
//
// It returns an error that wraps ErrUnevictable if that is what the pod is, or context.Cause(ctx) if ctx ends. After ctx
// has ended no eviction is sent; see Drain for one that is on its way.
//
// It is made for many calls at a time, one for each pod: they share one loop, and for each namespace one watch of its
// pods and one of its budgets. So it needs more rights than a kubelet has: list and watch on pods of the namespace. Rules,
// OwnNamespace and all that Request says are of Drain alone: here, budgets are all that pods wait for.
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
	e, err := d.errands.begin(ctx, pod, uid)
	if err != nil {
		return err
	}
	defer d.errands.end(e)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-e.over:
			return err
		case progress := <-e.news:
			tell(progress)
		case <-e.unseen:
			if d.isGone(ctx, e, tell) {
				return nil
			}
		}
	}
}

// isGone asks the server for a pod that the watch has not shown: one that was started a moment ago may be still to come.
func (d *Drainer) isGone(ctx context.Context, e *errand, tell func(PodProgress)) bool {
	var last lastLook
	var since time.Time
	for ctx.Err() == nil {
		exists, err := d.exists(ctx, e)
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
		o := unreadable("pod "+e.pod.String(), err)
		tell(PodProgress{Blocker: Blocker{Pod: e.pod, Reason: o.reason, By: o.by, Message: o.message, Since: since}})
		last = last.after(err, now, rand.Float64())
		d.rest(ctx, last.notBefore.Sub(now))
	}
	return false
}

// exists needs no more rights than the watch does.
func (d *Drainer) exists(ctx context.Context, e *errand) (bool, error) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	list, err := d.config.Pods.Pods(e.pod.Namespace).List(look, metav1.ListOptions{FieldSelector: named(e.pod.Name)})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(p corev1.Pod) bool { return p.UID == e.uid }), nil
}

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
