// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// UsualSLA is the deadline of a drain without --sla and --timeout. kubectl drain has no limit; a
// day is long enough for every caller, and ends drains that people forget.
const UsualSLA = 24 * time.Hour

// atOnce is the shortest escalation.deleteAfter: right after the server refuses an eviction.
const atOnce = time.Millisecond

// By holds the flags about the requester.
type By struct {
	// Reason explains the request to people.
	Reason string
	// Actor distinguishes actors that share a user.
	Actor string
	// BreakGlass passes all that holds an event back. It needs a Reason.
	BreakGlass bool
}

// mark records the actor on an event, and that it breaks the glass.
func (b By) mark(e *lifecyclev1alpha1.LifecycleEvent) {
	e.Spec.Actor = b.Actor
	if b.BreakGlass {
		// It is a request beside one that waits.
		e.Name = "break-glass-" + e.Name
		e.Annotations = map[string]string{lifecyclev1alpha1.BreakGlassAnnotation: "true"}
	}
}

// Drain holds the flags of a drain. They mean the same as in kubectl drain.
type Drain struct {
	// GracePeriod is the time in seconds in which each pod ends. Negative: the pod's own.
	GracePeriod int
	// Timeout limits how long the command waits, and the drain. 0: without limit.
	Timeout time.Duration
	// SLA is the deadline in the cluster. 0: Timeout, or [UsualSLA] without a Timeout.
	SLA time.Duration
	// PodSelector selects the pods that the drain evicts. Empty: all.
	PodSelector string
	// Mode is the field of DrainParameters.
	Mode slipwayv1alpha1.DrainMode
	// Force evicts pods that have no controller.
	Force bool
	// DeleteEmptyDirData evicts pods that have emptyDir volumes.
	DeleteEmptyDirData bool
	// DisableEviction deletes pods whose PodDisruptionBudgets allow no eviction.
	DisableEviction bool
	// DeleteAfter and KillAfter are the escalation. 0: never.
	DeleteAfter, KillAfter time.Duration
	By
	// Until is the expected return of the node. nil: unknown.
	Until *metav1.Time
	// Allow lists guards that let the drain pass.
	Allow []string
}

// Return returns the event that returns a node to service. With all, it releases the holds of all actors.
func Return(node string, by By, all bool) *lifecyclev1alpha1.LifecycleEvent {
	event := slipwayclient.Return(node, by.Reason)
	by.mark(event)
	if all {
		event.Spec.Parameters = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"release":%q}`, hold.ReleaseAll)}
	}
	return event
}

// Event returns the event that drains a node, or an error about a flag.
func (d Drain) Event(node string) (*lifecyclev1alpha1.LifecycleEvent, error) {
	event := slipwayclient.Drain(node, d.Reason)
	d.mark(event)
	event.Spec.Until = d.Until
	event.Spec.SLA = &metav1.Duration{Duration: UsualSLA}
	switch {
	case d.SLA < 0:
		return nil, fmt.Errorf("--sla: %s is negative", d.SLA)
	case d.Timeout < 0:
		return nil, fmt.Errorf("--timeout: %s is negative; 0 means without limit", d.Timeout)
	case d.SLA > 0:
		event.Spec.SLA.Duration = d.SLA
	case d.Timeout > 0:
		event.Spec.SLA.Duration = d.Timeout
	}
	for _, name := range d.Allow {
		guard := lifecyclev1alpha1.Guard(name)
		if guard != lifecyclev1alpha1.GuardLastSchedulableNode && guard != lifecyclev1alpha1.GuardSecondControlPlaneNode {
			return nil, fmt.Errorf("--allow: there is no guard %q; there are %s and %s", name,
				lifecyclev1alpha1.GuardLastSchedulableNode, lifecyclev1alpha1.GuardSecondControlPlaneNode)
		}
		event.Spec.Allow = append(event.Spec.Allow, guard)
	}
	parameters, err := d.parameters()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(parameters)
	if err != nil {
		return nil, fmt.Errorf("encode spec.parameters: %w", err)
	}
	event.Spec.Parameters = &runtime.RawExtension{Raw: raw}
	return event, nil
}

func (d Drain) parameters() (*slipwayv1alpha1.DrainParameters, error) {
	p := &slipwayv1alpha1.DrainParameters{
		TypeMeta: metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "DrainParameters"},
		Mode:     d.Mode, PassFreezes: d.BreakGlass,
	}
	if d.GracePeriod == 0 {
		return nil, errors.New("--grace-period: with 0, the server deletes a pod before its containers have ended, and the drain " +
			"could not detect an empty node; 1 is the shortest, and -1 means the pods' own")
	}
	if d.GracePeriod > 0 {
		seconds := int64(d.GracePeriod)
		p.GracePeriodSeconds = &seconds
	}
	if d.PodSelector != "" {
		selector, err := Selector(d.PodSelector)
		if err != nil {
			return nil, fmt.Errorf("--pod-selector: %w", err)
		}
		p.Targets = []slipwayv1alpha1.DrainTarget{{PodType: slipwayv1alpha1.PodTypeDefault, PodSelector: selector}}
	}
	if !d.Force {
		p.UnmanagedPods = slipwayv1alpha1.PodPolicyRefuse
	}
	if !d.DeleteEmptyDirData {
		p.LocalStorage = slipwayv1alpha1.PodPolicyRefuse
	}
	if d.DeleteAfter < 0 || d.KillAfter < 0 {
		return nil, errors.New("--delete-after, --kill-after: a time must not be negative; 0 means never")
	}
	after := d.DeleteAfter
	if d.DisableEviction {
		after = atOnce
	}
	p.Escalation = escalation(after, d.KillAfter)
	return p, nil
}

// escalation returns the escalation of these times; nil for none.
func escalation(deleteAfter, killAfter time.Duration) *slipwayv1alpha1.DrainEscalation {
	var e slipwayv1alpha1.DrainEscalation
	if deleteAfter > 0 {
		e.DeleteAfter = &metav1.Duration{Duration: deleteAfter}
	}
	if killAfter > 0 {
		e.KillAfter = &metav1.Duration{Duration: killAfter}
	}
	if e == (slipwayv1alpha1.DrainEscalation{}) {
		return nil
	}
	return &e
}

// operators translates a selector of the command line. A missing label equals no value, in both.
var operators = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.Equals:       metav1.LabelSelectorOpIn,
	selection.DoubleEquals: metav1.LabelSelectorOpIn,
	selection.In:           metav1.LabelSelectorOpIn,
	selection.NotEquals:    metav1.LabelSelectorOpNotIn,
	selection.NotIn:        metav1.LabelSelectorOpNotIn,
	selection.Exists:       metav1.LabelSelectorOpExists,
	selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}

// Selector reads a selector of the command line, such as app=web,tier!=db.
func Selector(text string) (*metav1.LabelSelector, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := parsed.Requirements()
	selector := &metav1.LabelSelector{}
	for _, r := range requirements {
		operator, known := operators[r.Operator()]
		if !known {
			return nil, fmt.Errorf("%q: selectors of objects do not compare numbers", text)
		}
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key(), Operator: operator, Values: r.Values().List()})
	}
	return selector, nil
}
