// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"slices"
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
)

// withdrawAll withdraws the requests of this command: it sets their intent, and deletes them when
// the controller has told the responders.
func (p *pursuit) withdrawAll(ctx context.Context, e *evictFlags) error {
	all, err := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return evictionTrouble("list EvictionRequests", err)
	}
	var withdrawn []*evictionv1alpha1.EvictionRequest
	for _, name := range e.pods {
		own := ownRequests(cli.Pointers(all.Items), name)
		if len(own) == 0 {
			p.Sayf("%s", "pod/"+name+" has nothing to withdraw\n")
		}
		for _, r := range own {
			now, err := p.withdraw(ctx, r)
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				continue // it has just gone
			}
			if err != nil {
				return err
			}
			withdrawn = append(withdrawn, now)
		}
	}
	if e.Wait && len(withdrawn) > 0 {
		return p.removeAll(ctx, withdrawn)
	}
	for _, r := range withdrawn {
		p.Sayf("%s is withdrawn\n", evictionResource(r))
	}
	return nil
}

// ownRequests returns the requests of this command for pods of a name.
func ownRequests(all []*evictionv1alpha1.EvictionRequest, pod string) []*evictionv1alpha1.EvictionRequest {
	return slices.DeleteFunc(slices.Clone(all), func(r *evictionv1alpha1.EvictionRequest) bool {
		t := r.Spec.Target.Pod
		return t == nil || t.Name != pod || r.Spec.Requester != evictRequester || r.Name != evictName(t.UID)
	})
}

// withdrawal removes withdrawn requests.
type withdrawal struct {
	*pursuit
	left []*evictionv1alpha1.EvictionRequest
	// late means that a controller should have seen the withdrawals by now.
	late bool
}

// removeAll deletes withdrawn requests, each when the controller has seen the withdrawal, or when
// it is clear that there is no controller.
func (p *pursuit) removeAll(ctx context.Context, withdrawn []*evictionv1alpha1.EvictionRequest) error {
	p.heeded = p.Clock.NewTimer(unheeded)
	defer p.heeded.Stop()
	err := p.cluster.ToEnd(ctx, p.Clock, follow.Scope{EvictionsIn: p.namespace}, &withdrawal{pursuit: p, left: withdrawn}, nil)
	if err != nil && ctx.Err() != nil {
		p.Notef("Stopped waiting. The requests are withdrawn, and go when their pods are gone.")
	}
	return err
}

// Show removes the requests whose withdrawal the controller has seen, and says whether none is
// left.
func (w *withdrawal) Show(ctx context.Context, _ time.Time) (over bool, err error) {
	select {
	case <-w.heeded.C():
		w.late = true
	default:
	}
	requests, evictions := w.stored()
	var left []*evictionv1alpha1.EvictionRequest
	for _, r := range w.left {
		if seen := requestOf(requests, r.UID); !w.late && seen != nil && (seen.Generation < r.Generation || !acted(seen)) {
			left = append(left, r)
			continue
		}
		if err := w.remove(ctx, r); err != nil {
			return false, err
		}
		w.Sayf("%s", withdrawnText(r, requests, evictions))
	}
	w.left = left
	return len(left) == 0, nil
}

// withdrawnText says what happens to an eviction whose request is withdrawn.
func withdrawnText(r *evictionv1alpha1.EvictionRequest, requests []*evictionv1alpha1.EvictionRequest, evictions []*evictionv1alpha1.Eviction) string {
	pod := r.Spec.Target.Pod
	row := target{r.Namespace, pod.Name, pod.UID}.row(requests, evictions)
	text := "pod/" + pod.Name + ": the request is withdrawn"
	var others []string
	for _, q := range row.Requesters {
		if q.Intent == evictionv1alpha1.RequesterIntentEviction && q.Name != evictRequester {
			others = append(others, q.Name)
		}
	}
	switch {
	case row.State == evictionDone:
		text += ", and the pod was gone before"
	case len(others) > 0:
		text += ", and the eviction goes on: " + strings.Join(others, ", ") + " still requests it"
	}
	return text + "\n"
}
