// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// history returns the past of the node and of its events, in order. The API server keeps only
// the last change of a condition.
func history(f Facts, events []*event) []Moment {
	var all []Moment
	for _, e := range events {
		all = append(all, ofEvent(e)...)
	}
	if f.Node != nil {
		all = append(all, ofTheNode(f.Node)...)
	}
	for _, e := range f.CoreEvents {
		n := noticeOf(e)
		if n != nil && n.seenIn(events) || alsoOfNode(e, f.CoreEvents) {
			continue
		}
		all = append(all, ofCoreEvent(e, n)...)
	}
	all = slices.DeleteFunc(all, func(m Moment) bool { return m.Time.IsZero() })
	slices.SortStableFunc(all, func(a, b Moment) int { return a.Time.Compare(b.Time.Time) })
	return slices.CompactFunc(all, func(a, b Moment) bool { return a.Text == b.Text && a.Time.Equal(&b.Time) })
}

func ofEvent(e *event) []Moment {
	created := fmt.Sprintf("LifecycleEvent %s is created", e.Name)
	if e.Spec.RequestedBy != "" {
		created += " by " + e.Spec.RequestedBy
	}
	if e.Spec.Reason != "" {
		created += ": " + e.Spec.Reason
	}
	all := []Moment{{e.CreationTimestamp, created}}
	for _, c := range e.Status.Conditions {
		if !expected(c) {
			all = append(all, Moment{c.LastTransitionTime, ofChange(e, c)})
		}
	}
	seen := map[string]bool{}
	for _, b := range e.Status.Blockers {
		text := fmt.Sprintf("%s is blocked: %s", b.Object, b.Reason)
		if b.By != "" {
			text += " by " + b.By
		}
		if b.Since != nil && !seen[text] {
			seen[text] = true
			all = append(all, Moment{*b.Since, text})
		}
	}
	if e.DeletionTimestamp != nil {
		all = append(all, Moment{*e.DeletionTimestamp, fmt.Sprintf("LifecycleEvent %s is deleted", e.Name)})
	}
	return all
}

// expected reports whether every successful event has this condition.
func expected(c metav1.Condition) bool {
	return c.Reason == lifecyclev1alpha1.ReasonDriverRegistered || reasons.Place(c.Type) == reasons.PodsLeft && c.Status == metav1.ConditionFalse
}

// ofChange is a change of a condition.
func ofChange(e *event, c metav1.Condition) string {
	switch c.Type {
	case lifecyclev1alpha1.ConditionClaimable:
		if c.Status == metav1.ConditionTrue {
			if by := e.Status.ClaimedBy; by != nil {
				return fmt.Sprintf("LifecycleEvent %s is claimed by %s %s", e.Name, by.Kind, by.Identity)
			}
			return fmt.Sprintf("LifecycleEvent %s is claimed", e.Name)
		}
	case lifecyclev1alpha1.ConditionFinished:
		return withMessage(fmt.Sprintf("LifecycleEvent %s ends as %s: %s", e.Name, e.Status.ClaimStatus, c.Reason), c.Message)
	}
	return withMessage(fmt.Sprintf("LifecycleEvent %s: %s is %s, %s", e.Name, c.Type, c.Status, c.Reason), c.Message)
}

func withMessage(text, message string) string {
	if message == "" {
		return text
	}
	return text + ": " + message
}

func ofTheNode(node *corev1.Node) []Moment {
	var all []Moment
	for _, o := range cordons.On(node).Owners {
		all = append(all, Moment{metav1.Time{Time: o.Since}, fmt.Sprintf("Node %s is cordoned for LifecycleEvent %s", node.Name, o.Event)})
	}
	if c := transitionOf(node); c != nil {
		all = append(all, Moment{changed(c), withMessage(fmt.Sprintf("Node %s: %s is %s, %s", node.Name, c.Type, c.Status, c.Reason), c.Message)})
	}
	return all
}

// alsoOfNode reports whether the Node has a core Event with the same text: Slipway writes core
// Events about a LifecycleEvent for its Node, too.
func alsoOfNode(e corev1.Event, all []corev1.Event) bool {
	return e.InvolvedObject.Kind != "Node" && slices.ContainsFunc(all, func(o corev1.Event) bool {
		return o.InvolvedObject.Kind == "Node" && o.Reason == e.Reason && o.Message == e.Message
	})
}

// LastTold returns the time of a core Event: the last one, if it came again.
func LastTold(e corev1.Event) metav1.Time {
	at := e.LastTimestamp
	if e.Series != nil && at.Before(&metav1.Time{Time: e.Series.LastObservedTime.Time}) {
		at = metav1.Time{Time: e.Series.LastObservedTime.Time}
	}
	if at.IsZero() {
		at = metav1.Time{Time: e.EventTime.Time}
	}
	if at.IsZero() {
		at = e.CreationTimestamp
	}
	return at
}

// ofCoreEvent returns a core Event. A repeated core Event appears once, at its last time.
func ofCoreEvent(e corev1.Event, n *notice) []Moment {
	count := e.Count
	if e.Series != nil {
		count = e.Series.Count
	}
	text := fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason)
	text = withMessage(text, strings.TrimSpace(e.Message))
	if n != nil {
		text = e.Message // it names the LifecycleEvent, and is the same on that and on the Node
	}
	if count > 1 {
		text += fmt.Sprintf(" (%d times)", count)
	}
	return []Moment{{LastTold(e), text}}
}

// notice is the content of a core Event of Slipway.
type notice struct {
	event types.UID
	// key identifies a blocker by its reason and its obstacle.
	key string
}

// noticeOf returns nil for a core Event of another controller.
func noticeOf(e corev1.Event) *notice {
	parts := strings.SplitN(e.Annotations[lifecyclev1alpha1.NoticeAnnotation], " ", 3)
	if len(parts) < 3 {
		return nil
	}
	return &notice{event: types.UID(parts[0]), key: parts[2]}
}

// seenIn reports whether the status of the LifecycleEvent contains the same information. After
// the end of a blocker, only the notice remains.
func (n *notice) seenIn(events []*event) bool {
	of := slices.IndexFunc(events, func(e *event) bool { return e.UID == n.event })
	if of < 0 {
		return false
	}
	return n.key == "" || slices.ContainsFunc(events[of].Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
		return n.key == b.Reason+" "+b.By
	})
}
