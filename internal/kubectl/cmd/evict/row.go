// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

// The states of a requested eviction.
const (
	evictionWaits    = "waiting"
	evictionGoesOn   = "in progress"
	evictionDone     = "evicted"
	evictionCanceled = "canceled"
	evictionFailed   = "failed"
)

// evictionRow is the state of the eviction of a pod.
type evictionRow struct {
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	UID       types.UID `json:"uid"`
	// Node is the node of the pod, where pods were read.
	Node string `json:"node,omitempty"`
	// State is waiting, in progress, evicted, canceled or failed. Reason and Message say why.
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Requesters want the eviction.
	Requesters []evictionv1alpha1.Requester `json:"requesters,omitempty"`
	// Responder is active, Next are those after it.
	Responder *activeResponder `json:"responder,omitempty"`
	Next      []string         `json:"next,omitempty"`
	// Eviction is the name of the Eviction.
	Eviction string `json:"eviction,omitempty"`
}

// activeResponder is the responder that acts now.
type activeResponder struct {
	Name string `json:"name"`
	// Since is when it became active, Heartbeat its last sign of life, Expected when it expects
	// to be done.
	Since     *metav1.Time `json:"since,omitempty"`
	Heartbeat *metav1.Time `json:"heartbeat,omitempty"`
	Expected  *metav1.Time `json:"expected,omitempty"`
	Message   string       `json:"message,omitempty"`
}

// over says whether the eviction has ended.
func (r *evictionRow) over() bool {
	return r.State == evictionDone || r.State == evictionCanceled || r.State == evictionFailed
}

// target is a pod; another pod of its name is another target.
type target struct {
	namespace, name string
	uid             types.UID
}

// evictionRows returns the rows of all pods whose eviction is requested, by namespace and name.
// Pods are for their nodes; they may be missing.
func evictionRows(requests []*evictionv1alpha1.EvictionRequest, evictions []*evictionv1alpha1.Eviction, pods []corev1.Pod) []evictionRow {
	of := map[target]bool{}
	for _, r := range requests {
		if p := r.Spec.Target.Pod; p != nil {
			of[target{r.Namespace, p.Name, p.UID}] = true
		}
	}
	for _, e := range evictions {
		if p := e.Spec.Target.Pod; p != nil {
			of[target{e.Namespace, p.Name, p.UID}] = true
		}
	}
	nodes := map[types.UID]string{}
	for i := range pods {
		nodes[pods[i].UID] = pods[i].Spec.NodeName
	}
	rows := make([]evictionRow, 0, len(of))
	for _, t := range slices.SortedFunc(maps.Keys(of), func(a, b target) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.uid, b.uid))
	}) {
		row := t.row(requests, evictions)
		row.Node = nodes[t.uid]
		rows = append(rows, row)
	}
	return rows
}

// row returns the state of the eviction of a pod.
func (t target) row(requests []*evictionv1alpha1.EvictionRequest, evictions []*evictionv1alpha1.Eviction) evictionRow {
	row := evictionRow{Namespace: t.namespace, Pod: t.name, UID: t.uid, State: evictionWaits}
	var conditions []metav1.Condition
	e := t.eviction(evictions)
	if e != nil {
		row.Eviction, conditions = e.Name, e.Status.Conditions
		row.take(e)
	}
	intents := map[string]evictionv1alpha1.RequesterIntent{}
	for _, r := range requests {
		p := r.Spec.Target.Pod
		if p == nil || r.Namespace != t.namespace || p.UID != t.uid {
			continue
		}
		if wants := evictionv1alpha1.RequesterIntent(r.Spec.Intent); intents[r.Spec.Requester] != evictionv1alpha1.RequesterIntentEviction {
			intents[r.Spec.Requester] = wants
		}
		switch {
		case e == nil:
			conditions = r.Status.Conditions
		case !acted(r) && r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction && isFinal(conditions):
			conditions = nil // it is requested anew
		}
	}
	row.requestedBy(intents)
	row.end(conditions)
	return row
}

// eviction returns the Eviction in progress, or else the newest.
func (t target) eviction(all []*evictionv1alpha1.Eviction) *evictionv1alpha1.Eviction {
	var found *evictionv1alpha1.Eviction
	for _, e := range all {
		p := e.Spec.Target.Pod
		if p == nil || e.Namespace != t.namespace || p.UID != t.uid {
			continue
		}
		if !isFinal(e.Status.Conditions) {
			return e
		}
		if found == nil || found.CreationTimestamp.Before(&e.CreationTimestamp) {
			found = e
		}
	}
	return found
}

// take records the responders.
func (r *evictionRow) take(e *evictionv1alpha1.Eviction) {
	r.Requesters = slices.Clone(e.Status.Requesters)
	if isFinal(e.Status.Conditions) {
		return
	}
	for _, one := range evictionrequest.InTurn(e.Status.TargetResponders) {
		switch one.State {
		case evictionv1alpha1.ResponderStateActive:
			r.State, r.Responder = evictionGoesOn, &activeResponder{Name: one.Name}
		case evictionv1alpha1.ResponderStateInactive:
			r.Next = append(r.Next, one.Name)
		default: // it is done
		}
	}
	for _, said := range e.Status.Responders {
		if r.Responder != nil && said.Name == r.Responder.Name {
			r.Responder.Since, r.Responder.Heartbeat, r.Responder.Expected = said.StartTime, said.HeartbeatTime, said.ExpectedCompletionTime
			if said.Message != nil {
				r.Responder.Message = *said.Message
			}
		}
	}
}

// requestedBy records the requests' own intents, which are newer.
func (r *evictionRow) requestedBy(intents map[string]evictionv1alpha1.RequesterIntent) {
	for i := range r.Requesters {
		if intent, known := intents[r.Requesters[i].Name]; known {
			r.Requesters[i].Intent = intent
			delete(intents, r.Requesters[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(intents)) {
		r.Requesters = append(r.Requesters, evictionv1alpha1.Requester{Name: name, Intent: intents[name]})
	}
	slices.SortFunc(r.Requesters, func(a, b evictionv1alpha1.Requester) int { return strings.Compare(a.Name, b.Name) })
}

// end records the end, if there is one.
func (r *evictionRow) end(conditions []metav1.Condition) {
	if c := apimeta.FindStatusCondition(conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)); isSet(c) {
		r.is(evictionDone, c.Reason, c.Message)
		return
	}
	c := apimeta.FindStatusCondition(conditions, string(evictionv1alpha1.EvictionConditionFailed))
	switch {
	case !isSet(c):
	case c.Reason == string(evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters):
		r.is(evictionCanceled, c.Reason, c.Message)
	default:
		r.is(evictionFailed, c.Reason, c.Message)
	}
}

// is records an end: no responder is active any more.
func (r *evictionRow) is(state, reason, message string) {
	r.State, r.Reason, r.Message = state, reason, message
	r.Responder, r.Next = nil, nil
}

func isSet(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// acted says whether the controller has acted on a request's present spec.
func acted(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

func isFinal(conditions []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)) ||
		apimeta.IsStatusConditionTrue(conditions, string(evictionv1alpha1.EvictionConditionFailed))
}
