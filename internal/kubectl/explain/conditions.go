// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// leftover is how condition PodsLeft names what is left, why and because of what.
var leftover = regexp.MustCompile(`((?:Pod|Volume) [^ ]+) \(([A-Za-z]+)(?:, ([^)]+))?\)`)

// ofTheLeft makes a cause of each kind of what is left behind, as far as the condition
// names it.
func ofTheLeft(f Facts, e *event, all []*event, c metav1.Condition, now time.Time) []Cause {
	var order []group
	found := map[group]*Cause{}
	for _, match := range leftover.FindAllStringSubmatch(c.Message, -1) {
		object, g := match[1], group{match[2], match[3]}
		if g.by == "" && kindOf(object) == "Volume" {
			g.by = object
		}
		if found[g] == nil {
			entry, _ := reasons.Lookup(reasons.Blocker, g.code)
			found[g], order = &Cause{
				Code: g.code, Place: reasons.PodsLeft, Event: e.Name, By: g.by, Since: &c.LastTransitionTime,
				Text: entry.Means, Passes: true, Reference: reasons.Page + reasons.Anchor(g.code),
			}, append(order, g)
		}
		found[g].Objects = append(found[g].Objects, object)
	}
	if len(order) == 0 {
		return []Cause{ofTheCondition(f, e, all, c, now)}
	}
	var causes []Cause
	for _, g := range order {
		tell(f, e, found[g], now)
		causes = append(causes, *found[g])
	}
	return causes
}

// ofTheCondition is the cause that a condition tells of.
func ofTheCondition(f Facts, e *event, all []*event, c metav1.Condition, now time.Time) Cause {
	place := reasons.Place(c.Type)
	entry, known := reasons.Lookup(place, c.Reason)
	if !known && place == reasons.PodsLeft {
		entry, _ = reasons.Lookup(reasons.Blocker, c.Reason)
		entry.Passes = true // it is not waited for
	}
	cause := Cause{
		Code: c.Reason, Place: place, Event: e.Name, Objects: []string{"LifecycleEvent " + e.Name},
		Text: entry.Matter(c.Message), Since: &c.LastTransitionTime, Reference: reasons.Page + reasons.Anchor(c.Reason),
	}
	if cause.Text == "" {
		cause.Text = entry.Means
	}
	cause.Passes = place == reasons.PodsLeft || passes(entry, cause.Since, now)
	t := telling{f, e, &cause, now}
	if teller, ok := conditionTellers[c.Reason]; ok && place != reasons.PodsLeft {
		teller(t, all)
	}
	if len(cause.Remedies) == 0 && entry.Helps != "" {
		t.remedy(entry.Helps, "")
	}
	return cause
}

// conditionTellers are for reasons of conditions of which the facts tell more.
var conditionTellers = map[string]func(telling, []*event){
	lifecyclev1alpha1.ReasonGated:                         tellGated,
	lifecyclev1alpha1.ReasonTransitionNotFound:            tellTransitionNotFound,
	lifecyclev1alpha1.ReasonDriverMissing:                 tellDriver,
	lifecyclev1alpha1.ReasonDriverNotReady:                tellDriver,
	lifecyclev1alpha1.ReasonWaitingForTurn:                tellTurn,
	lifecyclev1alpha1.ReasonNodeNotFound:                  tellNodeNotFound,
	lifecyclev1alpha1.ReasonAgentMissing:                  tellAgentMissing,
	lifecyclev1alpha1.ReasonAgentNotReady:                 tellAgentNotReady,
	lifecyclev1alpha1.ReasonNodeNotReady:                  tellNodeOfAgent,
	lifecyclev1alpha1.ReasonClaimModeChanged:              tellCancel,
	lifecyclev1alpha1.ReasonSLAExpired:                    tellLate,
	string(lifecyclev1alpha1.GuardLastSchedulableNode):    tellGuard,
	string(lifecyclev1alpha1.GuardSecondControlPlaneNode): tellGuard,
	lifecyclev1alpha1.ReasonHeldByAnother:                 tellLease,
	lifecyclev1alpha1.ReasonLeaseLost:                     tellLease,
	"CordonedByOthers":                                    tellOthersCordon,
}

func tellGated(t telling, _ []*event) {
	for i, gate := range t.event.Spec.Gates {
		if t.cause.By == "" {
			t.cause.By = "gate " + gate.Name
		}
		if gate.Name == lifecyclev1alpha1.GateGuards {
			t.controller()
			t.remedy("slipway.dev/guards is removed by Slipway's controller, when no other gate is left and its guards let the event pass", "")
			continue
		}
		if gate.Name == lifecyclev1alpha1.GateLease {
			t.controller()
			t.remedy("slipway.dev/lease is removed by Slipway's controller, when no gates but its own are left and Slipway holds the node's lease", "")
			continue
		}
		owner, _, found := strings.Cut(gate.Name, "/")
		if found {
			t.detail("gate %s belongs to %s", gate.Name, owner)
		}
		t.remedy(fmt.Sprintf("have the owner of gate %s remove it; whoever may change the event can do it for them", gate.Name),
			`kubectl patch lifecycleevent %s --type=json -p '[{"op":"test","path":"/spec/gates/%d/name","value":"%s"},{"op":"remove","path":"/spec/gates/%d"}]'`,
			t.event.Name, i, quotable(gate.Name), i)
	}
}

// quotable is a gate's name where it is one, so that it can stand in a command.
func quotable(name string) any {
	if word.MatchString(strings.ReplaceAll(name, "/", "")) {
		return raw(name)
	}
	return name
}

// raw is a text that was looked at, and may have a slash.
type raw string

func tellTransitionNotFound(t telling, _ []*event) {
	t.cause.By = "LifecycleTransition " + t.event.Spec.TransitionName
	var names []string
	for _, lct := range t.Transitions {
		names = append(names, lct.Name)
	}
	t.detail("there is: %s", some(names))
	t.remedy("see which transitions there are", "kubectl get lifecycletransitions")
	t.remedy("start the driver that publishes it; or delete the event, and create it anew with the right name",
		"kubectl delete lifecycleevent %s", t.event.Name)
}

func tellDriver(t telling, _ []*event) {
	driver := ""
	if d := t.event.Status.Driver; d != nil {
		driver = d.Name
	} else if lct := t.transition(t.event.Spec.TransitionName); lct != nil {
		driver = lct.Spec.Driver
	}
	t.cause.By = "driver " + driver
	t.agentPod()
	t.remedy("see which pods run on the node: one of them must be the driver "+driver, "kubectl get pods -A --field-selector=spec.nodeName=%s", t.NodeName)
	t.remedy("look at the driver's log", "")
}

func tellTurn(t telling, all []*event) {
	other := before(t.event, all)
	if other == nil {
		return
	}
	t.cause.By = "LifecycleEvent " + other.Name
	how := "is waiting too, and older"
	switch {
	case other.Status.ClaimStatus.Terminal():
		how = "has ended, and is being wound up"
	case !pending(other):
		how = "is claimed" + progress(other)
	}
	t.detail("LifecycleEvent %s (%s) %s", other.Name, other.Spec.TransitionName, how)
	t.remedy("wait for the other event, or see what holds it up", "kubectl get lifecycleevent %s", other.Name)
	t.remedy("or cancel the other one, if it is not wanted any more", "kubectl delete lifecycleevent %s", other.Name)
}

// before is the event that is worked on before this one.
func before(e *event, all []*event) *event {
	var found *event
	mine := false
	for _, other := range all {
		switch {
		case other == e:
			mine = true
		case rank(other) == 0:
			return other
		case other.Status.ClaimStatus.Terminal(), !mine && found == nil:
			found = other
		}
	}
	return found
}

func tellNodeNotFound(t telling, _ []*event) {
	t.cause.By = "Node " + t.NodeName
	t.remedy("see which nodes there are: the name may be another one", "kubectl get nodes")
}

func tellOthersCordon(t telling, _ []*event) {
	t.cause.By = "Node " + t.NodeName
	t.remedy("when those agree who have cordoned it", "kubectl uncordon %s", t.NodeName)
}

func tellCancel(t telling, _ []*event) {
	t.controller()
	t.remedy("cancel the event, and ask again", "kubectl delete lifecycleevent %s", t.event.Name)
}

func tellLate(t telling, _ []*event) {
	for i, b := range t.event.Status.Blockers {
		if i == maxNamed {
			break
		}
		t.detail("at last: %s: %s %s", b.Object, b.Reason, b.By)
	}
	t.remedy("remove what blocked it, then ask again; what is done needs not be done twice", "kubectl slipway drain %s", t.NodeName)
}

func tellLease(t telling, _ []*event) {
	t.remedy("see who holds the lease, and ask them to give it back", "kubectl get lease -n kube-node-maintenance %s -o yaml", t.NodeName)
}

func tellGuard(t telling, _ []*event) {
	guard := t.cause.Code // one of ours
	t.cause.By = "guard " + guard
	list := []string{`"` + guard + `"`}
	for _, g := range t.event.Spec.Allow {
		if word.MatchString(string(g)) {
			list = append(list, `"`+string(g)+`"`)
		}
	}
	t.remedy("see the other nodes: it passes when enough of them are Ready and schedulable", "kubectl get nodes")
	t.remedy("or, if that is wanted all the same, allow it; it takes the right to open guards",
		`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"allow":[%s]}}'`, t.event.Name, raw(strings.Join(list, ",")))
}

func notNoticed(f Facts, e *event, now time.Time) Cause {
	entry, _ := reasons.Lookup(reasons.Explained, reasons.CodeNotNoticed)
	c := Cause{
		Code: reasons.CodeNotNoticed, Place: reasons.Explained, Event: e.Name, Objects: []string{"LifecycleEvent " + e.Name},
		Since: &e.CreationTimestamp, Text: entry.Means, Reference: reasons.Page + reasons.Anchor(reasons.CodeNotNoticed),
	}
	c.Passes = passes(entry, c.Since, now)
	t := telling{f, e, &c, now}
	t.agentPod()
	t.controller()
	t.remedy("see Slipway's pods", "kubectl -n %s get pods -o wide", f.Namespace)
	return c
}

func some(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	default:
		return strings.Join(names, ", ")
	}
}

// taints are those of the node, for people.
func taints(node *corev1.Node) []string {
	if node == nil {
		return nil
	}
	var all []string
	for _, taint := range node.Spec.Taints {
		all = append(all, taint.ToString())
	}
	return all
}
