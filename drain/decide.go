// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// plan is what to do about the facts.
type plan struct {
	// evict are the evictions to send now.
	evict []send
	// resolve are the claims whose volumes must be known.
	resolve []types.NamespacedName
	// confirm asks for the LIST that ends the drain if it shows no pod in scope.
	confirm bool
	status  Status
	// notes go into the next facts.
	notes notes
	// wake is when to decide again even if nothing happens. Zero means never.
	wake time.Time
}

// notes is what a decision leaves for the next one.
type notes struct {
	since    map[blockerKey]time.Time
	turns    map[types.UID]time.Time
	refusals map[types.UID]time.Time
	emptied  time.Time
	named    map[types.UID]naming
	told     bool
	// claims: there are some whose volumes are not known.
	claims bool
}

// send is one eviction to send, or what follows when evictions lead to nothing.
type send struct {
	pod    *corev1.Pod
	by     means
	guards []*budget
	// budget is the one whose slot the eviction needs. Nil if it needs none.
	budget *budget
	counts bool
}

// decide is the whole of the drain's thinking.
func decide(f facts) plan {
	leaving, left := filter(f.pods, f)
	paced := pace(order(leaving, f.own), f)
	paced.told = f.told || f.complete(leaving)
	paced.beginPatience(leaving)
	p := plan{evict: paced.sends, wake: earlier(paced.wake, f.readingLate)}
	e := finish(leaving, f)
	p.resolve, p.confirm, p.wake = e.resolve, e.confirm, earlier(p.wake, e.wake)
	p.notes = notes{
		turns: paced.turns, refusals: paced.refusals, emptied: e.emptied, claims: e.claims, named: paced.named,
		told: paced.told,
	}
	var wake time.Time
	p.status, p.notes.since, wake = summarise(leaving, left, paced, e, f)
	p.wake = earlier(p.wake, wake)
	if p.notes.told {
		p.status.Named = namedPods(leaving, paced.named)
	}
	return p
}

// ending is what is left to do once no pod is left.
type ending struct {
	emptied time.Time
	// volumes are still attached, and waited for. claims: it is not known yet whether there are any.
	volumes []string
	claims  bool
	// abandoned are still attached, and not waited for any more.
	abandoned []string
	resolve   []types.NamespacedName
	confirm   bool
	// reached: there is nothing left to do.
	reached bool
	wake    time.Time
}

// finish decides what stands between a node without pods in scope and the end: its volumes, then a last look.
func finish(leaving []leaver, f facts) ending {
	if !f.podsKnown || len(leaving) > 0 || !f.node.closed() {
		return ending{}
	}
	e := ending{emptied: f.emptied}
	if e.emptied.IsZero() {
		e.emptied = f.now
	}
	e.detach(f)
	if e.claims || len(e.volumes) > 0 {
		return e
	}
	switch {
	case f.confirmed:
		e.reached = true
	case f.now.Before(f.confirmAfter):
		e.wake = f.confirmAfter
	default:
		e.confirm = true
	}
	return e
}

// earlier returns the earlier of two moments, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// lookTimeout bounds the last LIST: an API server that is away must not keep us from hearing that ctx has ended.
const lookTimeout = 30 * time.Second

// confirm asks the server once, with a consistent read, whether any pod in scope is left: a watch may lag, and a drain
// that reports an empty node too early lets somebody switch off a machine with running containers.
func (r *run) confirm(ctx context.Context, f facts) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	list, err := r.d.config.Pods.Pods("").List(look, metav1.ListOptions{FieldSelector: onNode(r.req.NodeName)})
	if err == nil {
		pods := make([]*corev1.Pod, len(list.Items))
		for i := range list.Items {
			pods[i] = &list.Items[i]
		}
		leaving, _ := filter(scope(r.req.NodeName, pods), f)
		r.confirmed = len(leaving) == 0
	}
	if r.confirmed {
		r.book.last = lastLook{}
		return
	}
	r.looked(err, r.d.config.Clock.Now(), rand.Float64())
}
