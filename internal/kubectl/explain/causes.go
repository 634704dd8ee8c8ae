// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// patience is the time within which a temporary cause should end. After it, the cause may be
// permanent.
const patience = 2 * time.Minute

// bounded are the codes of causes that end by themselves, even after patience.
var bounded = map[string]bool{
	"AwaitingResponder": true, "PodTimedOut": true, "PodSkipped": true, "PodRecurring": true, "StaticPodLeft": true, "LeftBehind": true,
	lifecyclev1alpha1.ReasonWaitingForTurn: true,
}

// explanation finds the causes of one event. With a cause, it adds facts and remedies to that.
type explanation struct {
	Facts
	event *event
	all   []*event // of the node, in their order of work
	now   time.Time
	cause *Cause
}

// newCause returns a cause with the text of the catalogue.
func (x explanation) newCause(place reasons.Place, code, by, message string, since *metav1.Time, objects ...string) *Cause {
	entry, known := lookup(place, code)
	c := &Cause{
		Code: code, Place: place, By: by, Event: x.event.Name, Objects: objects, Since: since, Text: cmp.Or(entry.Matter(message), entry.Means),
		Passes: place == reasons.PodsLeft || entry.Passes && (bounded[code] || since == nil || x.now.Sub(since.Time) < patience),
	}
	if known {
		c.Reference = reasons.Reference(code)
	}
	return c
}

// lookup finds the entry of a code in the catalogue. Condition PodsLeft has codes of blockers, too.
func lookup(place reasons.Place, code string) (entry reasons.Entry, known bool) {
	entry, known = reasons.Lookup(place, code)
	if !known && place == reasons.PodsLeft {
		return reasons.Lookup(reasons.Blocker, code)
	}
	return entry, known
}

// merge adds a cause to a list. Causes with the same code and obstacle become one.
func merge(all []*Cause, c *Cause) []*Cause {
	i := slices.IndexFunc(all, func(o *Cause) bool { return o.Code == c.Code && o.By == c.By })
	if i < 0 {
		return append(all, c)
	}
	one := all[i]
	one.Objects = append(one.Objects, c.Objects...)
	if c.Since != nil && (one.Since == nil || c.Since.Before(one.Since)) {
		one.Since, one.Passes = c.Since, c.Passes
	}
	return all
}

// causes returns all causes that block the event.
func (x explanation) causes() []Cause {
	var found []*Cause
	self := "LifecycleEvent " + x.event.Name
	if wait := state.WaitOf(x.event); wait.Reason == reasons.CodeClaimedByAnother {
		found = append(found, x.newCause(reasons.Explained, wait.Reason, "", wait.Message, nil, self))
	}
	for _, c := range x.event.Status.Conditions {
		if troubles(x.event, c) {
			found = append(found, x.ofCondition(c)...)
		}
	}
	if silent(x.event) {
		found = append(found, x.newCause(reasons.Explained, reasons.CodeNotNoticed, "", "", &x.event.CreationTimestamp, self))
	}
	if !x.event.Status.ClaimStatus.Terminal() { // the final condition names the first blocker
		var blockers []*Cause
		for _, b := range x.event.Status.Blockers {
			blockers = merge(blockers, x.newCause(reasons.Blocker, b.Reason, b.By, b.Message, b.Since, b.Object))
		}
		found = append(found, blockers...)
	}
	all := make([]Cause, len(found))
	for i, c := range found {
		x.cause = c
		x.explain()
		all[i] = *c
	}
	return all
}

// leftover matches the objects in the message of condition PodsLeft, each with the reason and the
// obstacle.
var leftover = regexp.MustCompile(`((?:Pod|Volume) [^ ]+) \(([A-Za-z]+)(?:, ([^)]+))?\)`)

// ofCondition returns the causes that a condition reports: several only for condition PodsLeft.
func (x explanation) ofCondition(c metav1.Condition) (found []*Cause) {
	place := reasons.Place(c.Type)
	if place == reasons.PodsLeft {
		for _, match := range leftover.FindAllStringSubmatch(c.Message, -1) {
			object, code, by := match[1], match[2], match[3]
			if by == "" && kindOf(object) == "Volume" {
				by = object
			}
			found = merge(found, x.newCause(place, code, by, "", &c.LastTransitionTime, object))
		}
	}
	if found == nil {
		found = append(found, x.newCause(place, c.Reason, "", c.Message, &c.LastTransitionTime, "LifecycleEvent "+x.event.Name))
	}
	return found
}

// explainer adds to a cause its obstacle, facts and remedies. It may contain placeholders, see
// [explanation.value].
type explainer struct {
	by       string
	facts    func(explanation)
	remedies []Remedy
}

// explain adds facts and remedies to the cause, from its explainer or from the catalogue.
func (x explanation) explain() {
	table := conditionExplainers
	if x.cause.Place == reasons.Blocker || x.cause.Place == reasons.PodsLeft {
		table = blockerExplainers
	}
	e := table[x.cause.Code]
	if e.by != "" {
		x.cause.By, _ = x.fill(e.by)
	}
	if e.facts != nil {
		e.facts(x)
	}
	for _, r := range e.remedies {
		x.remedy(r.Text, r.Command)
	}
	if entry, _ := lookup(x.cause.Place, x.cause.Code); len(x.cause.Remedies) == 0 && entry.Helps != "" {
		x.remedy(entry.Helps, "")
	}
}

func (x explanation) detail(format string, args ...any) {
	x.cause.Details = append(x.cause.Details, fmt.Sprintf(format, args...))
}

// remedy adds a remedy, and formats its command as [fmt.Sprintf] does. It omits a command if the
// value of a placeholder or an argument is not a name.
func (x explanation) remedy(text, command string, args ...any) {
	command = commandOf(command, args...)
	filled, ok := x.fill(command)
	if !ok {
		filled = ""
	}
	x.cause.Remedies = append(x.cause.Remedies, Remedy{Text: text, Command: filled})
}

// word is a name that a shell takes literally. The writer of a status must not control the
// commands that people copy into a shell.
var word = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.:]*$`)

// commandOf returns a command, or nothing if one of its arguments is not a name.
func commandOf(command string, args ...any) string {
	for _, a := range args {
		if text, ok := a.(string); ok && !word.MatchString(text) {
			return ""
		}
	}
	if len(args) == 0 {
		return command
	}
	return fmt.Sprintf(command, args...)
}

var placeholder = regexp.MustCompile(`\{(NODE|EVENT|SLIPWAY|NAMESPACE|POD|BYKIND|BYSPACE|BY)\}`)

// fill replaces placeholders. The result is ok if all values are names.
func (x explanation) fill(text string) (filled string, ok bool) {
	ok = true
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		value := x.value(name)
		ok = ok && word.MatchString(value)
		return value
	}), ok
}

// value returns the value of a placeholder: of the node and the event, of Slipway's namespace, of
// the first object, and of the obstacle.
func (x explanation) value(name string) string {
	namespace, pod := x.first()
	space, by := nameIn(x.cause.By)
	return map[string]string{
		"{NODE}": x.NodeName, "{EVENT}": x.event.Name, "{SLIPWAY}": x.Namespace, "{NAMESPACE}": namespace, "{POD}": pod,
		"{BYKIND}": strings.ToLower(kindOf(x.cause.By)), "{BYSPACE}": space, "{BY}": by,
	}[name]
}

// kindOf and nameIn read the parts of an object's name with its kind: "Pod shop/cart-0".
func kindOf(object string) string {
	kind, _, _ := strings.Cut(object, " ")
	return kind
}

func nameIn(object string) (namespace, name string) {
	_, full, _ := strings.Cut(object, " ")
	full, _, _ = strings.Cut(full, ",")
	if namespace, name, found := strings.Cut(full, "/"); found {
		return namespace, name
	}
	return "", full
}

// first returns the namespace and name of the first object.
func (x explanation) first() (namespace, name string) {
	if len(x.cause.Objects) == 0 {
		return "", ""
	}
	return nameIn(x.cause.Objects[0])
}
