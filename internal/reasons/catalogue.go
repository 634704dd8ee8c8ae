// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"
	"strings"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Place is where a reason code stands: [Blocker], [NodeState], or the type of a condition
// of LifecycleEvents.
type Place string

const (
	// Blocker is status.blockers of an event. What is left behind has the same codes.
	Blocker Place = "Blocker"
	// NodeState is condition LifecycleTransition of the Node.
	NodeState Place = "LifecycleTransition"
)

// The conditions of an event that a drain has besides those of package
// [lifecyclev1alpha1]. They are the drain driver's.
const (
	TargetsReached Place = "TargetsReached"
	PodsLeft       Place = "PodsLeft"
	Schedulable    Place = "Schedulable"
)

// Entry is what is known of a reason code in one place.
type Entry struct {
	Code  string
	Place Place
	// Status is that of the condition with this reason: True or False. Empty for a blocker.
	Status string
	// Means says what is the matter.
	Means string
	// Helps says what to do. It is empty where nothing needs to be done.
	Helps string
	// Passes tells that it ends by itself, if nothing is broken.
	Passes bool
}

// Page is where the reference of all codes is, in the repository.
const Page = "docs/reference/reasons.md"

// Reference is where the documentation describes a code.
func Reference(code string) string { return Page + Anchor(code) }

// Anchor is the place of a code on [Page].
func Anchor(code string) string { return "#" + strings.ToLower(code) }

// Entries are all entries, by code and then by place.
func Entries() []Entry {
	all := slices.Concat(blockersOfNodes, blockersOfPods, blockersOfTheEnd, claimable, claimed, guards, leases, endings, ofDrains, nodeStates, shutdowns, ofReports, ofMaintenances)
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.Code, b.Code) })
	return all
}

var byPlace = index()

type key struct {
	place Place
	code  string
}

func index() map[key]Entry {
	found := map[key]Entry{}
	for _, e := range Entries() {
		found[key{e.Place, e.Code}] = e
	}
	return found
}

// Lookup finds the entry of a code in a place. Drivers of others have codes of their own.
func Lookup(place Place, code string) (Entry, bool) {
	e, ok := byPlace[key{place, code}]
	return e, ok
}

// Advised is a message with what helps, by the catalogue, unless it says that already or
// nothing needs to be done.
func Advised(place Place, code, message string) string {
	e, ok := Lookup(place, code)
	if !ok || e.Helps == "" || strings.HasSuffix(message, e.Helps) {
		return message
	}
	if message == "" {
		return e.Helps
	}
	return message + "; " + e.Helps
}

// Matter is a message without what helps, where that is the catalogue's: for who knows better.
func Matter(place Place, code, message string) string {
	e, _ := Lookup(place, code)
	return e.Matter(message)
}

// Matter is a message without what helps, where that is the catalogue's.
func (e Entry) Matter(message string) string {
	if e.Helps == "" {
		return message
	}
	return strings.TrimSuffix(message, "; "+e.Helps)
}

func ofCondition(conditionType, status string, entries ...Entry) []Entry {
	for i := range entries {
		entries[i].Place, entries[i].Status = Place(conditionType), status
	}
	return entries
}

func ofBlockers(entries ...Entry) []Entry { return ofCondition(string(Blocker), "", entries...) }

// lost are the reasons that stand where nobody claims an event, and where nobody drives one.
func lost(code string) Entry {
	switch code {
	case lifecyclev1alpha1.ReasonAgentMissing:
		return Entry{
			Code: code, Means: "No pod of Slipway's agent is on the node.",
			Helps: "install its DaemonSet, or let it tolerate the node's taints; one at work has other labels, or is not in the controller's --namespace",
		}
	case lifecyclev1alpha1.ReasonAgentNotReady:
		return Entry{
			Code: code, Means: "The pod of the node's agent is not Ready.",
			Helps: "look at the agent's pod and its log", Passes: true,
		}
	default:
		return Entry{
			Code: code, Means: "The Node is not Ready, so its agent may be dead.",
			Helps: "look at the node and its kubelet", Passes: true,
		}
	}
}
