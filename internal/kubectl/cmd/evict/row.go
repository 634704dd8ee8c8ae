// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// The states that only evictions have.
const (
	inProgress state.State = "in progress"
	evicted    state.State = "evicted"
)

// evictionRow is the state of the eviction of a pod.
type evictionRow struct {
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	UID       types.UID `json:"uid"`
	// Node is the node of the pod, if the command has read pods.
	Node string `json:"node,omitempty"`
	// State is waiting, in progress, evicted, canceled or failed. Reason and Message explain it.
	State      state.State                  `json:"state"`
	Reason     string                       `json:"reason,omitempty"`
	Message    string                       `json:"message,omitempty"`
	Requesters []evictionv1alpha1.Requester `json:"requesters,omitempty"`
	// Responder is the active responder; Next are the responders after it.
	Responder *activeResponder `json:"responder,omitempty"`
	Next      []string         `json:"next,omitempty"`
	// Eviction is the name of the Eviction.
	Eviction string `json:"eviction,omitempty"`
}

// activeResponder is the active responder of an eviction.
type activeResponder struct {
	Name      string       `json:"name"`
	Since     *metav1.Time `json:"since,omitempty"`
	Heartbeat *metav1.Time `json:"heartbeat,omitempty"`
	// Expected is the time at which it expects to be done.
	Expected *metav1.Time `json:"expected,omitempty"`
	Message  string       `json:"message,omitempty"`
}

// over reports whether the eviction has ended.
func (r *evictionRow) over() bool { return r.State != state.Waiting && r.State != inProgress }

// target is a pod. Another pod of the same name is another target.
type target struct {
	namespace, name string
	uid             types.UID
}

// evictionRows returns the rows of all requested evictions, by namespace and name.
func evictionRows(requests []*evictionv1alpha1.EvictionRequest, evictions []*evictionv1alpha1.Eviction) []evictionRow {
	targets := map[target]bool{}
	for _, r := range requests {
		if p := r.Spec.Target.Pod; p != nil {
			targets[target{r.Namespace, p.Name, p.UID}] = true
		}
	}
	for _, e := range evictions {
		if p := e.Spec.Target.Pod; p != nil {
			targets[target{e.Namespace, p.Name, p.UID}] = true
		}
	}
	rows := make([]evictionRow, 0, len(targets))
	for t := range targets {
		rows = append(rows, t.row(requests, evictions))
	}
	slices.SortFunc(rows, func(a, b evictionRow) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.UID, b.UID))
	})
	return rows
}

// row returns the state of the eviction of a pod.
func (t target) row(requests []*evictionv1alpha1.EvictionRequest, evictions []*evictionv1alpha1.Eviction) evictionRow {
	row := evictionRow{Namespace: t.namespace, Pod: t.name, UID: t.uid, State: state.Waiting}
	var conditions []metav1.Condition
	e := t.eviction(evictions)
	if e != nil {
		row.Eviction, conditions = e.Name, e.Status.Conditions
		row.addResponders(e)
	}
	intents := map[string]evictionv1alpha1.RequesterIntent{}
	for _, r := range requests {
		p := r.Spec.Target.Pod
		if p == nil || r.Namespace != t.namespace || p.UID != t.uid {
			continue
		}
		if intents[r.Spec.Requester] != evictionv1alpha1.RequesterIntentEviction {
			intents[r.Spec.Requester] = evictionv1alpha1.RequesterIntent(r.Spec.Intent)
		}
		switch {
		case e == nil:
			conditions = r.Status.Conditions
		case !acted(r) && r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction && isFinal(conditions):
			conditions = nil // a new request of the same eviction
		}
	}
	row.addRequesters(intents)
	row.end(conditions)
	return row
}

// eviction returns the Eviction in progress, or the newest one.
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
		if found == nil || evictionrequest.Older(found, e) < 0 {
			found = e
		}
	}
	return found
}

// addResponders adds the requesters and the responders of an Eviction.
func (r *evictionRow) addResponders(e *evictionv1alpha1.Eviction) {
	r.Requesters = slices.Clone(e.Status.Requesters)
	if isFinal(e.Status.Conditions) {
		return
	}
	for _, one := range evictionrequest.InTurn(e.Status.TargetResponders) {
		switch one.State {
		case evictionv1alpha1.ResponderStateActive:
			r.State, r.Responder = inProgress, &activeResponder{Name: one.Name}
		case evictionv1alpha1.ResponderStateInactive:
			r.Next = append(r.Next, one.Name)
		default: // it is done
		}
	}
	for _, reported := range e.Status.Responders {
		if r.Responder != nil && reported.Name == r.Responder.Name {
			r.Responder.Since, r.Responder.Heartbeat, r.Responder.Expected = reported.StartTime, reported.HeartbeatTime, reported.ExpectedCompletionTime
			if reported.Message != nil {
				r.Responder.Message = *reported.Message
			}
		}
	}
}

// addRequesters adds the intents of the requests, which are newer than those in the Eviction.
func (r *evictionRow) addRequesters(intents map[string]evictionv1alpha1.RequesterIntent) {
	for _, known := range r.Requesters {
		if _, newer := intents[known.Name]; !newer {
			intents[known.Name] = known.Intent
		}
	}
	r.Requesters = nil
	for _, name := range slices.Sorted(maps.Keys(intents)) {
		r.Requesters = append(r.Requesters, evictionv1alpha1.Requester{Name: name, Intent: intents[name]})
	}
}

// end sets the final state, if the conditions have one.
func (r *evictionRow) end(conditions []metav1.Condition) {
	failed := apimeta.FindStatusCondition(conditions, string(evictionv1alpha1.EvictionConditionFailed))
	if c := apimeta.FindStatusCondition(conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)); isTrue(c) {
		r.endAs(evicted, c.Reason, c.Message)
	} else if isTrue(failed) {
		s := state.Failed
		if failed.Reason == string(evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters) {
			s = state.Canceled
		}
		r.endAs(s, failed.Reason, failed.Message)
	}
}

// endAs sets a final state, in which no responder is active.
func (r *evictionRow) endAs(s state.State, reason, message string) {
	r.State, r.Reason, r.Message = s, reason, message
	r.Responder, r.Next = nil, nil
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// acted reports whether the controller has acted on the present spec of a request.
func acted(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

func isFinal(conditions []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)) ||
		apimeta.IsStatusConditionTrue(conditions, string(evictionv1alpha1.EvictionConditionFailed))
}

// evictionTable lists evictions.
func evictionTable(rows []evictionRow, style ui.Style, now time.Time, namespaces, wide bool) string {
	type row = evictionRow
	if len(rows) == 0 {
		return "No eviction of a pod is requested.\n"
	}
	var columns []cli.Column[row]
	if namespaces {
		columns = append(columns, cli.Text("NAMESPACE", func(r *row) string { return r.Namespace }))
	}
	columns = append(columns,
		cli.Text("POD", func(r *row) string { return r.Pod }),
		cli.Toned("STATE", func(r *row) (string, ui.Tone) {
			return string(r.State), map[state.State]ui.Tone{evicted: ui.Good, state.Failed: ui.Bad, state.Canceled: ui.Warn}[r.State]
		}),
		cli.Text("RESPONDER", func(r *row) string { return r.active().Name }),
		cli.Text("SINCE", func(r *row) string { return cli.Ago(r.active().Since, now) }),
		cli.Text("HEARTBEAT", func(r *row) string { return cli.Ago(r.active().Heartbeat, now) }),
		cli.Under("NEXT", func(r *row) string { return strings.Join(r.Next, ", ") }),
		cli.Under("REQUESTED BY", (*row).requestedBy))
	if wide {
		columns = append(columns,
			cli.Under("DONE", func(r *row) string { return cli.Until(r.active().Expected, now) }),
			cli.Under("NODE", func(r *row) string { return r.Node }),
			cli.Under("EVICTION", func(r *row) string { return r.Eviction }))
	}
	return cli.Table(style, rows, append(columns, cli.Under("MESSAGE", (*row).message)))
}

// line returns the state of an eviction as a line.
func (r *evictionRow) line(now time.Time) string {
	text := string(r.State)
	if active := r.active(); active.Name != "" {
		text = active.Name + " is active"
		if active.Since != nil {
			text += " since " + active.Since.UTC().Format(time.TimeOnly)
		}
		if active.Heartbeat != nil {
			text += ", last heartbeat at " + active.Heartbeat.UTC().Format(time.TimeOnly)
		}
		if len(r.Next) > 0 {
			text += ", then " + strings.Join(r.Next, ", ")
		}
	}
	if says := r.message(); says != "" {
		text += ": " + says
	}
	return cli.ChangeLine(now, r.Namespace+"/"+r.Pod, text)
}

// active returns the active responder, or an empty one.
func (r *evictionRow) active() activeResponder {
	if r.Responder == nil {
		return activeResponder{}
	}
	return *r.Responder
}

// message returns the message about the end, or the message of the active responder.
func (r *evictionRow) message() string {
	if r.over() {
		return cmp.Or(r.Message, r.Reason)
	}
	return r.active().Message
}

func (r *evictionRow) requestedBy() string {
	var all []string
	for _, one := range r.Requesters {
		text := one.Name
		if one.Intent == evictionv1alpha1.RequesterIntentWithdrawn {
			text += " (withdrawn)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
