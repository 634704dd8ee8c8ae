// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func newEviction(name string, age time.Duration, change ...func(*evictionv1alpha1.Eviction)) *evictionv1alpha1.Eviction {
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
	}}
	e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: "cart", UID: "cart"}
	for _, c := range change {
		c(e)
	}
	return e
}

func inTurn(name string, state evictionv1alpha1.ResponderStateType, message string) func(*evictionv1alpha1.Eviction) {
	return func(e *evictionv1alpha1.Eviction) {
		e.Status.TargetResponders = append(e.Status.TargetResponders, evictionv1alpha1.TargetResponder{Name: name, State: state})
		e.Status.Responders = append(e.Status.Responders, evictionv1alpha1.ResponderStatus{
			Name: name, StartTime: &metav1.Time{Time: noon}, Message: &message,
		})
	}
}

func ended(condition evictionv1alpha1.EvictionConditionType, reason evictionv1alpha1.EvictionConditionReason) func(*evictionv1alpha1.Eviction) {
	return func(e *evictionv1alpha1.Eviction) {
		e.Status.Conditions = append(e.Status.Conditions, metav1.Condition{
			Type: string(condition), Status: metav1.ConditionTrue, Reason: string(reason), Message: "words",
		})
	}
}

func TestWhatIsSaidOfAPodIsWhatItsEvictionSays(t *testing.T) {
	const backup = "example.com/backup"
	running := drain.Response{State: drain.EvictionRunning, Eviction: "shop/a", UID: "a"}
	at := func(r drain.Response, responder, message string) drain.Response {
		r.Responder, r.Message, r.Since, r.Last = responder, message, noon, responder == evictionrequest.Evictor
		return r
	}
	for name, tt := range map[string]struct {
		evictions []*evictionv1alpha1.Eviction
		want      drain.Response
	}{
		"none":        {nil, drain.Response{}},
		"not begun":   {[]*evictionv1alpha1.Eviction{newEviction("a", 0)}, running},
		"a responder": {[]*evictionv1alpha1.Eviction{newEviction("a", 0, inTurn(backup, "Active", "half done"))}, at(running, backup, "half done")},
		"the last one": {
			[]*evictionv1alpha1.Eviction{newEviction("a", 0, inTurn(backup, "Completed", ""), inTurn(evictionrequest.Evictor, "Active", ""))},
			at(running, evictionrequest.Evictor, ""),
		},
		"failed": {
			[]*evictionv1alpha1.Eviction{newEviction("a", 0, inTurn(backup, "Completed", ""), ended("Failed", "NoFurtherResponder"))},
			drain.Response{State: drain.EvictionFailed, Eviction: "shop/a", UID: "a", Message: "NoFurtherResponder: words"},
		},
		"canceled": {
			[]*evictionv1alpha1.Eviction{newEviction("a", 0, ended("Failed", "CanceledDueToNoRequesters"))},
			drain.Response{Eviction: "shop/a", UID: "a"},
		},
		"succeeded": {
			[]*evictionv1alpha1.Eviction{newEviction("a", 0, ended("TargetEvicted", "PodDeleted"))},
			drain.Response{Eviction: "shop/a", UID: "a"},
		},
		"one that runs counts before one that has ended, and the oldest of those": {
			[]*evictionv1alpha1.Eviction{
				newEviction("c", 0, ended("Failed", "NoFurtherResponder")), newEviction("b", time.Minute), newEviction("a", time.Hour),
			},
			running,
		},
		"of those that have ended, the newest counts": {
			[]*evictionv1alpha1.Eviction{
				newEviction("b", time.Hour, ended("Failed", "NoFurtherResponder")), newEviction("a", 0, ended("Failed", "CanceledDueToNoRequesters")),
			},
			drain.Response{Eviction: "shop/a", UID: "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all []eviction
			for _, e := range tt.evictions {
				all = append(all, toEviction(e))
			}
			if diff := cmp.Diff(tt.want, respond(&corev1.Pod{}, all, nil)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhoHasRespondersOfTheirOwn(t *testing.T) {
	replicaSet := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "cart", Controller: new(true)}}
	pod := func(change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "cart", OwnerReferences: replicaSet, Labels: map[string]string{"pod-template-hash": "x"},
		}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	labelled := func(value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels["slipway.dev/surge"] = value }
	}
	annotated := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
	}
	ownedBy := func(owners ...metav1.OwnerReference) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.OwnerReferences = owners }
	}
	deployment := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "cart"}
	for name, tt := range map[string]struct {
		pod    *corev1.Pod
		surges bool
		own    bool
	}{
		"one of a ReplicaSet": {pod(), false, false},
		"one with responders": {pod(func(p *corev1.Pod) {
			p.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "example.com/backup"}}
		}), false, true},
		"one with the annotation":                      {pod(annotated(evictionrequest.AnnotationResponders, "example.com/backup:20000")), false, true},
		"one whose annotation is wrong":                {pod(annotated(evictionrequest.AnnotationResponders, "backup")), false, false},
		"one that opts in to surge":                    {pod(labelled("true")), false, true},
		"one whose namespace opts in":                  {pod(), true, true},
		"one that opts out of what its namespace says": {pod(labelled("false")), true, false},
		"one of a StatefulSet": {
			pod(labelled("true"), ownedBy(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Controller: new(true)})), true, false,
		},
		"one of a ReplicaSet that is of no Deployment": {
			pod(labelled("true"), func(p *corev1.Pod) { delete(p.Labels, "pod-template-hash") }), true, false,
		},
		"one without an owner":  {pod(ownedBy()), true, false},
		"one that was released": {pod(labelled("true"), ownedBy(deployment), annotated("slipway.dev/surge-template-hash", "x")), false, true},
	} {
		if got := respond(tt.pod, nil, map[string]bool{"shop": tt.surges}).Own; got != tt.own {
			t.Errorf("%s: own is %t", name, got)
		}
	}
}
