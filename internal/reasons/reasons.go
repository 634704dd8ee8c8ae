// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// Place is the place of a reason code: one of the constants below, or the type of a condition of
// LifecycleEvents.
type Place string

const (
	// Blocker is status.blockers of an event. Condition PodsLeft has the same codes.
	Blocker Place = "Blocker"
	// NodeState is condition LifecycleTransition of the Node.
	NodeState Place = "LifecycleTransition"
	// GracefulShutdown is condition GracefulNodeShutdownInProgress of the Node.
	GracefulShutdown Place = "GracefulNodeShutdownInProgress"
	// Maintenance is a condition of a NodeMaintenance.
	Maintenance Place = "NodeMaintenance"
	// MaintenanceNode is status.nodeStatuses of a NodeMaintenance.
	MaintenanceNode Place = "MaintenanceNode"
	// Explained is the report of kubectl slipway explain, of which these codes are.
	Explained Place = "explain"
)

// CodeNotNoticed is the code of an event on which neither an agent nor the controller has
// reported. Only [Explained] has it.
const CodeNotNoticed = "NotNoticed"

// CodeClaimedByAnother is the code of an event that a third-party controller has claimed.
const CodeClaimedByAnother = "ClaimedByAnother"

// The drain driver adds these conditions of an event to the conditions of package
// lifecycle/v1alpha1.
const (
	TargetsReached Place = lifecyclev1alpha1.ConditionTargetsReached
	PodsLeft       Place = lifecyclev1alpha1.ConditionPodsLeft
	Schedulable    Place = lifecyclev1alpha1.ConditionSchedulable
)

// Entry describes a reason code in one place.
type Entry struct {
	Code  string
	Place Place
	// Status is the status of the condition with this reason: True or False. Empty for a blocker.
	Status string
	// Means describes the situation.
	Means string
	// Helps is the remedy. It is empty if no action is necessary.
	Helps string
	// Passes means that the situation ends by itself, without a fault.
	Passes bool
}

// Docs is the address of the repository. Add a path in it.
const Docs = "https://github.com/slipway-k8s/slipway/blob/main/"

// PagePath is the reference of all codes in the repository, and Page its address.
const (
	PagePath = "docs/reference/reasons.md"
	Page     = Docs + PagePath
)

// Reference is the address of a code in the documentation.
func Reference(code string) string { return Page + Anchor(code) }

// Anchor is the place of a code on [Page].
func Anchor(code string) string { return "#" + strings.ToLower(code) }

// Entries returns all entries, by code and then by place.
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

// Lookup finds the entry of a code in a place. A state may have any spelling. It does not know the codes of third-party drivers.
func Lookup(place Place, code string) (Entry, bool) {
	if e, ok := byPlace[key{place, code}]; ok || place != NodeState {
		return e, ok
	}
	i := slices.IndexFunc(nodeStates, func(e Entry) bool { return lifecyclev1alpha1.IsState(e.Code, code) })
	if i < 0 {
		return Entry{}, false
	}
	return nodeStates[i], true
}

// Advised adds the remedy of the catalogue to a message, unless the message ends with it, or the
// entry has none.
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

// Matter removes the remedy of the catalogue from a message, for callers that know a better
// one.
func Matter(place Place, code, message string) string {
	e, _ := Lookup(place, code)
	return e.Matter(message)
}

// Matter removes the remedy of the entry from a message.
func (e Entry) Matter(message string) string {
	if e.Helps == "" {
		return message
	}
	return strings.TrimSuffix(message, "; "+e.Helps)
}

// ofCondition sets the place of entries, and the status of the condition that has them.
func ofCondition(conditionType, status string, entries ...Entry) []Entry {
	for i := range entries {
		entries[i].Place, entries[i].Status = Place(conditionType), status
	}
	return entries
}

// fine is an entry without a remedy.
func fine(code, means string) Entry { return Entry{Code: code, Means: means, Passes: true} }

// passing is an entry that passes by itself, and what helps if it does not.
func passing(code, means, helps string) Entry {
	return Entry{Code: code, Means: means, Helps: helps, Passes: true}
}

// stuck is an entry that stays until its cause is removed.
func stuck(code, means, helps string) Entry { return Entry{Code: code, Means: means, Helps: helps} }

// blocker is an entry of a drain that stays until its cause is removed. Its remedy is the drain's.
func blocker(reason drain.Reason, means string) Entry {
	return stuck(string(reason), means, reason.Help())
}

// passingBlocker is an entry of a drain that passes by itself.
func passingBlocker(reason drain.Reason, means string) Entry {
	return passing(string(reason), means, reason.Help())
}

// Shorten cuts a text to at most limit bytes, the unit of the limits of API fields, between
// two characters. An ellipsis at its end shows that it was cut.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// Names lists names, and counts those after the first few.
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
