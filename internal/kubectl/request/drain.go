// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// UsualSLA is the deadline of a drain where neither --sla nor --timeout says one. kubectl
// drain has no limit; a day is none for who waits, and lets no drain be forgotten.
const UsualSLA = 24 * time.Hour

// atOnce is the shortest escalation.deleteAfter: as soon as an eviction has been refused.
const atOnce = time.Millisecond

// Drain is what the flags of a drain say. They mean what they mean to kubectl drain.
type Drain struct {
	// GracePeriod is how many seconds each pod may take to end. Negative: its own.
	GracePeriod int
	// Timeout is how long somebody waits, and the drain may take. 0: without limit.
	Timeout time.Duration
	// SLA is the deadline in the cluster, where it is not Timeout. 0: Timeout, or else
	// [UsualSLA].
	SLA time.Duration
	// PodSelector selects the pods that leave. Empty: all.
	PodSelector string
	// Mode says who makes pods leave, as DrainParameters do. Empty: the default there.
	Mode string
	// Force lets pods leave that have no controller.
	Force bool
	// DeleteEmptyDirData lets pods leave that have emptyDir volumes.
	DeleteEmptyDirData bool
	// DisableEviction has pods deleted where their budgets do not allow an eviction.
	DisableEviction bool
	// Reason is for people.
	Reason string
	// Allow lists guards that are not to hold the drain.
	Allow []string
}

// Event is the event that drains a node. An error is about a flag.
func (d Drain) Event(node string) (*lifecyclev1alpha1.LifecycleEvent, error) {
	parameters, err := d.parameters()
	if err != nil {
		return nil, err
	}
	allow, err := guards(d.Allow)
	if err != nil {
		return nil, err
	}
	sla, err := d.sla()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(parameters)
	if err != nil {
		return nil, fmt.Errorf("encode spec.parameters: %w", err)
	}
	event := newEvent(DrainName(node), lifecycleevent.DrainTransition, node, d.Reason)
	event.Spec.SLA = &metav1.Duration{Duration: sla}
	event.Spec.Allow = allow
	event.Spec.Parameters = &runtime.RawExtension{Raw: raw}
	return event, nil
}

func (d Drain) sla() (time.Duration, error) {
	switch {
	case d.SLA < 0:
		return 0, fmt.Errorf("--sla: %s is not a time that a drain can take", d.SLA)
	case d.Timeout < 0:
		return 0, fmt.Errorf("--timeout: %s is not a time to wait; 0 is without limit", d.Timeout)
	case d.SLA > 0:
		return d.SLA, nil
	case d.Timeout > 0:
		return d.Timeout, nil
	default:
		return UsualSLA, nil
	}
}

func (d Drain) parameters() (*slipwayv1alpha1.DrainParameters, error) {
	p := &slipwayv1alpha1.DrainParameters{
		TypeMeta: metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "DrainParameters"},
	}
	mode, err := modeOf(d.Mode)
	switch {
	case d.GracePeriod == 0:
		return nil, errNoGrace
	case err != nil:
		return nil, err
	case d.GracePeriod > 0:
		seconds := int64(d.GracePeriod)
		p.GracePeriodSeconds = &seconds
	}
	p.Mode = mode
	if d.PodSelector != "" {
		selector, err := selectorOf(d.PodSelector)
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
	if d.DisableEviction {
		p.Escalation = &slipwayv1alpha1.DrainEscalation{DeleteAfter: &metav1.Duration{Duration: atOnce}}
	}
	return p, nil
}

// errNoGrace is what is wrong with a grace period of 0.
var errNoGrace = errors.New("--grace-period: with 0 the server forgets a pod before its containers have ended, and nobody " +
	"would know when the node is empty; 1 is the shortest, and -1 the pods' own")

func modeOf(text string) (slipwayv1alpha1.DrainMode, error) {
	switch mode := slipwayv1alpha1.DrainMode(text); mode {
	case "", slipwayv1alpha1.DrainAuto, slipwayv1alpha1.DrainEvictionRequest, slipwayv1alpha1.DrainEviction:
		return mode, nil
	default:
		return "", fmt.Errorf("--eviction-mode: %q must be %s, %s or %s", text,
			slipwayv1alpha1.DrainAuto, slipwayv1alpha1.DrainEvictionRequest, slipwayv1alpha1.DrainEviction)
	}
}

func guards(names []string) ([]lifecyclev1alpha1.Guard, error) {
	var all []lifecyclev1alpha1.Guard
	for _, name := range names {
		guard := lifecyclev1alpha1.Guard(name)
		switch guard {
		case lifecyclev1alpha1.GuardLastSchedulableNode, lifecyclev1alpha1.GuardSecondControlPlaneNode:
			all = append(all, guard)
		default:
			return nil, fmt.Errorf("--allow: there is no guard %q; there are %s and %s", name,
				lifecyclev1alpha1.GuardLastSchedulableNode, lifecyclev1alpha1.GuardSecondControlPlaneNode)
		}
	}
	return all, nil
}
