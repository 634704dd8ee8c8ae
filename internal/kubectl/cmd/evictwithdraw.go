// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"slices"
	"strings"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withdrawAll takes the requests of this command back: it says so on them, and deletes them
// when the controller has told the responders.
func (p *evictPursuit) withdrawAll(ctx context.Context, e *evictFlags) error {
	all, err := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return evictionTrouble("list EvictionRequests", err)
	}
	var withdrawn []*evictionv1alpha1.EvictionRequest
	for _, name := range e.pods {
		own := ownRequests(pointers(all.Items), name)
		if len(own) == 0 {
			p.say("pod/" + name + " has nothing to withdraw\n")
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
	if e.wait {
		return p.removeAll(ctx, withdrawn)
	}
	for _, r := range withdrawn {
		p.say(evictionResource(r) + " is withdrawn\n")
	}
	return nil
}

// ownRequests are those of this command for pods of a name.
func ownRequests(all []*evictionv1alpha1.EvictionRequest, pod string) []*evictionv1alpha1.EvictionRequest {
	return slices.DeleteFunc(slices.Clone(all), func(r *evictionv1alpha1.EvictionRequest) bool {
		t := r.Spec.Target.Pod
		return t == nil || t.Name != pod || r.Spec.Requester != evictRequester || r.Name != evictName(t.UID)
	})
}

// removeAll deletes requests that are withdrawn, each when the controller has seen that, or
// when it is clear that there is none.
func (p *evictPursuit) removeAll(ctx context.Context, withdrawn []*evictionv1alpha1.EvictionRequest) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b, err := watchEvictions(ctx, p.clients, p.namespace)
	if err != nil {
		return err
	}
	heeded := p.clock.NewTimer(unheeded)
	defer heeded.Stop()
	late := false
	for len(withdrawn) > 0 {
		v := b.view()
		if v.refused != nil {
			return v.refused
		}
		var left []*evictionv1alpha1.EvictionRequest
		for _, r := range withdrawn {
			seen := v.request(r.UID)
			gone := v.complete && seen == nil
			if !late && !gone && (seen == nil || seen.Generation < r.Generation || !acted(seen)) {
				left = append(left, r)
				continue
			}
			if err := p.remove(ctx, r); err != nil {
				return err
			}
			p.say(withdrawnText(r, v))
		}
		if withdrawn = left; len(left) == 0 {
			break
		}
		select {
		case <-heeded.C():
			late = true
			continue
		case <-ctx.Done():
			p.note("Stopped waiting. The requests are withdrawn, and go when their pods are gone.")
			return ctx.Err()
		case <-b.changed:
		}
	}
	return nil
}

// withdrawnText says what comes of an eviction that is not wanted any more.
func withdrawnText(r *evictionv1alpha1.EvictionRequest, v evictionView) string {
	pod := r.Spec.Target.Pod
	row := target{r.Namespace, pod.Name, pod.UID}.row(v.requests, v.evictions)
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
		text += ", and the eviction goes on: " + strings.Join(others, ", ") + " still asks for it"
	}
	return text + "\n"
}
