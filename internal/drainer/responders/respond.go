// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// eviction is an Eviction, read.
type eviction struct {
	pod types.UID
	drain.Response
	created time.Time
}

// toEviction reads an Eviction. It leaves the fields that depend on the pod empty.
func toEviction(e *evictionv1alpha1.Eviction) eviction {
	r := drain.Response{State: drain.EvictionRunning, Eviction: e.Namespace + "/" + e.Name, UID: e.UID}
	switch failed := apimeta.FindStatusCondition(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed)); {
	case apimeta.IsStatusConditionTrue(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)):
		r.State = drain.EvictionNone
	case failed == nil || failed.Status != metav1.ConditionTrue:
		active(&r, e)
	case failed.Reason == string(evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters):
		r.State = drain.EvictionNone
	default:
		r.State = drain.EvictionFailed
		r.Message = strings.TrimSuffix(failed.Reason+": "+failed.Message, ": ")
	}
	return eviction{e.Spec.Target.Pod.UID, r, e.CreationTimestamp.Time}
}

// active fills in the active responder.
func active(r *drain.Response, e *evictionv1alpha1.Eviction) {
	at := slices.IndexFunc(e.Status.TargetResponders, func(t evictionv1alpha1.TargetResponder) bool {
		return t.State == evictionv1alpha1.ResponderStateActive
	})
	if at < 0 {
		return
	}
	r.Responder = e.Status.TargetResponders[at].Name
	r.Last = r.Responder == evictionrequest.Evictor
	for _, s := range e.Status.Responders {
		if s.Name == r.Responder {
			r.Since, r.Heartbeat, r.Message = ptr.Deref(s.StartTime, metav1.Time{}).Time, ptr.Deref(s.HeartbeatTime, metav1.Time{}).Time, ptr.Deref(s.Message, "")
		}
	}
}

// respond returns the Response for a pod with these Evictions. The oldest running Eviction counts, as for the controller;
// if none runs, the newest.
func respond(pod *corev1.Pod, evictions []eviction, surges map[string]bool) drain.Response {
	r := drain.Response{}
	if len(evictions) > 0 {
		r = slices.MinFunc(evictions, counts).Response
	}
	own, err := evictionrequest.RespondersOf(pod) // a malformed annotation names no responder
	r.Own = err == nil && len(own) > 0 || surged(pod, surges)
	return r
}

// counts puts the Eviction first that counts.
func counts(a, b eviction) int {
	age := a.created.Compare(b.created)
	switch aRuns, bRuns := a.State == drain.EvictionRunning, b.State == drain.EvictionRunning; {
	case aRuns && !bRuns:
		return -1
	case !aRuns && bRuns:
		return 1
	case !aRuns:
		age = -age
	}
	return cmp.Or(age, cmp.Compare(a.UID, b.UID))
}

// surged reports whether slipway.dev/surge responds to the pod: the pod or its namespace opts in, and
// the responder's own rule takes the pod. A drain must not wait for a responder that never becomes active.
func surged(pod *corev1.Pod, surges map[string]bool) bool {
	wanted, said := surge.OptIn(pod.Labels)
	return (wanted || !said && surges[pod.Namespace]) && surge.IsCandidate(pod)
}
