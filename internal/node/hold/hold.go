// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// NodeField is the field by which holds are selected by node.
const NodeField = "spec.nodeName"

// MaxOnNode limits the holds of a node. The event of the next actor waits.
const MaxOnNode = 16

// UncordonedBy on a Node names the person that has uncordoned it last, until its next cordon (admission/guards/uncordons.yaml).
const UncordonedBy = "slipway.dev/uncordoned-by"

// HeldBy on a Node names the users that hold it, for people and for the warnings of admission (admission/guards/held-nodes.yaml).
// Slipway decides nothing by it: a node can change its own annotations.
const HeldBy = "slipway.dev/held-by"

// Hold is a NodeHold.
type Hold = slipwayv1alpha1.NodeHold

// Parameters are spec.parameters of an event that returns a node. They also exist in admission/release-holds.yaml.
type Parameters struct {
	// Release is empty, or [ReleaseAll].
	Release string `json:"release,omitempty"`
}

// ReleaseAll releases the holds of all actors. It requires the verb release-holds.
const ReleaseAll = "All"

// ParametersOf reads spec.parameters of an event that returns a node.
func ParametersOf(raw []byte) (Parameters, error) {
	var p Parameters
	if len(raw) == 0 {
		return p, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("spec.parameters: the return of a node takes only release: %s: %w", ReleaseAll, err)
	}
	if p.Release != "" && p.Release != ReleaseAll {
		return p, fmt.Errorf("spec.parameters.release must be %s, or left out; got %q", ReleaseAll, p.Release)
	}
	return p, nil
}

// New returns the hold of an event on its node.
func New(node *corev1.Node, e *lifecyclev1alpha1.LifecycleEvent) *Hold {
	h := &Hold{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(node.Name, e.UID)},
		Spec: slipwayv1alpha1.NodeHoldSpec{
			NodeName: node.Name, EventName: e.Name, EventUID: e.UID,
			User: e.Spec.RequestedBy, Actor: e.Spec.Actor, Purpose: e.Spec.Reason, Until: e.Spec.Until,
		},
	}
	h.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	if refs := ownersOf(e); len(refs) > 0 {
		h.Spec.Maintenance, h.OwnerReferences = refs[0].Name, refs
	}
	return h
}

// nameOf returns the name of the hold of an event: unique to the event, and readable.
func nameOf(node string, event types.UID) string {
	const maxName = 253
	readable := node[:min(len(node), maxName-1-len(event))]
	return strings.TrimRight(readable, "-.") + "." + string(event)
}

// maintenance is an entry of the annotation MaintenancesAnnotation. Only Slipway's controller writes it
// (admission/event-records.yaml).
type maintenance struct {
	UID      types.UID `json:"uid"`
	Name     string    `json:"name"`
	TakeOver bool      `json:"takeOver"`
}

func maintenances(e *lifecyclev1alpha1.LifecycleEvent) (refs []maintenance) {
	if err := json.Unmarshal([]byte(e.Annotations[slipwayv1alpha1.MaintenancesAnnotation]), &refs); err != nil {
		return nil
	}
	return refs
}

// TakesOver returns whether an event of maintenances takes its node over from the users that hold it.
func TakesOver(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return OfMaintenance(e) && slices.ContainsFunc(maintenances(e), func(m maintenance) bool { return m.TakeOver })
}

// ownersOf returns the maintenances of an event as the owners of its hold.
func ownersOf(e *lifecyclev1alpha1.LifecycleEvent) []metav1.OwnerReference {
	refs := maintenances(e)
	owners := make([]metav1.OwnerReference, len(refs))
	for i, ref := range refs {
		owners[i] = metav1.OwnerReference{
			APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "NodeMaintenance", Name: ref.Name, UID: ref.UID,
		}
	}
	return owners
}

// OfMaintenance returns whether an event belongs to a NodeMaintenance.
func OfMaintenance(e *lifecyclev1alpha1.LifecycleEvent) bool {
	_, is := e.Labels[slipwayv1alpha1.MaintenanceEventLabel]
	return is
}

// ReleasedBy returns whether an event that returns the node releases the hold. The return of a maintenance releases the
// holds of maintenances. The return of a user releases the holds of that user and actor, holds of unknown users and,
// with [ReleaseAll], all holds.
func ReleasedBy(h *Hold, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if OfMaintenance(e) {
		return h.Spec.Maintenance != ""
	}
	if e.Spec.Parameters != nil {
		if p, err := ParametersOf(e.Spec.Parameters.Raw); err == nil && p.Release == ReleaseAll {
			return true
		}
	}
	if h.Spec.Maintenance != "" {
		return false
	}
	return h.Spec.User == "" || h.Spec.User == e.Spec.RequestedBy && h.Spec.Actor == e.Spec.Actor
}

// ByUsers returns the holds of users on each node, the oldest first. The holds of maintenances are left out.
func ByUsers(all []*Hold) map[string][]*Hold {
	byNode := map[string][]*Hold{}
	for _, h := range all {
		if h.Spec.Maintenance == "" {
			byNode[h.Spec.NodeName] = append(byNode[h.Spec.NodeName], h)
		}
	}
	for _, holds := range byNode {
		slices.SortFunc(holds, func(a, b *Hold) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
	}
	return byNode
}

// Text names the actors of holds, with purpose, start and expected end, for messages.
func Text(holds []*Hold) string {
	const shown, maxPurpose = 3, 128
	var texts []string
	for _, h := range holds[:min(len(holds), shown)] {
		text := Actor(h)
		if h.Spec.Purpose != "" {
			text += fmt.Sprintf(" for %q", reasons.Shorten(h.Spec.Purpose, maxPurpose))
		}
		text += " since " + h.CreationTimestamp.UTC().Format(time.RFC3339)
		if h.Spec.Until != nil {
			text += " until " + h.Spec.Until.UTC().Format(time.RFC3339)
		}
		texts = append(texts, text)
	}
	if more := len(holds) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", and ")
}

// Actor names the actor of a hold.
func Actor(h *Hold) string {
	switch {
	case h.Spec.Maintenance != "":
		return fmt.Sprintf("NodeMaintenance %q", h.Spec.Maintenance)
	case h.Spec.User == "":
		return fmt.Sprintf("LifecycleEvent %q", h.Spec.EventName)
	case h.Spec.Actor != "":
		return fmt.Sprintf("user %q (actor %q)", h.Spec.User, h.Spec.Actor)
	default:
		return fmt.Sprintf("user %q", h.Spec.User)
	}
}
