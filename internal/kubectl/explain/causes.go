// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// patience is how long a cause that passes by itself may last. One that lasts longer may not
// pass.
const patience = 2 * time.Minute

// bounded are the codes of causes that end by themselves, however long they last.
var bounded = map[string]bool{
	"AwaitingResponder": true, "PodTimedOut": true, "PodSkipped": true, "PodRecurring": true, "StaticPodLeft": true, "LeftBehind": true,
	lifecyclev1alpha1.ReasonWaitingForTurn: true,
}

func passes(entry reasons.Entry, since *metav1.Time, now time.Time) bool {
	return entry.Passes && (bounded[entry.Code] || since == nil || now.Sub(since.Time) < patience)
}

// key is what causes have in common that are shown as one.
type key struct{ code, by string }

// causes collects causes, one for each key, in order.
type causes struct {
	all  []*Cause
	with map[key]*Cause
}

// of returns the cause with the key. It is the given one if there was none.
func (c *causes) of(k key, otherwise Cause) *Cause {
	if c.with[k] == nil {
		if c.with == nil {
			c.with = map[key]*Cause{}
		}
		otherwise.Code, otherwise.By = k.code, k.by
		c.with[k] = &otherwise
		c.all = append(c.all, &otherwise)
	}
	return c.with[k]
}

// explained adds to each cause what the facts say.
func (c *causes) explained(f Facts, e *event, now time.Time) []Cause {
	var all []Cause
	for _, one := range c.all {
		explanation{f, e, one, now}.ofCode()
		all = append(all, *one)
	}
	return all
}

// ofBlockersOf joins blockers with the same reason and the same obstacle into one cause.
func ofBlockersOf(f Facts, e *event, now time.Time) []Cause {
	var found causes
	for _, b := range e.Status.Blockers {
		entry, known := reasons.Lookup(reasons.Blocker, b.Reason)
		c := found.of(key{b.Reason, b.By}, Cause{Place: reasons.Blocker, Event: e.Name, Text: cmp.Or(entry.Matter(b.Message), entry.Means)})
		if known {
			c.Reference = reasons.Reference(b.Reason)
		}
		c.Objects = append(c.Objects, b.Object)
		if b.Since != nil && (c.Since == nil || b.Since.Before(c.Since)) {
			c.Since = b.Since
		}
		c.Passes = passes(entry, c.Since, now)
	}
	return found.explained(f, e, now)
}

// explanation adds to one cause what the facts say, and what helps.
type explanation struct {
	Facts
	event *event
	cause *Cause
	now   time.Time
}

// ofCode adds what the code of a blocker calls for: by its explainer, or by the catalogue.
func (x explanation) ofCode() {
	if explain, ok := blockerExplainers[x.cause.Code]; ok {
		explain(x)
		return
	}
	if entry, ok := reasons.Lookup(x.cause.Place, x.cause.Code); ok && entry.Helps != "" {
		x.remedy(entry.Helps, "")
	}
}

func (x explanation) detail(format string, args ...any) {
	x.cause.Details = append(x.cause.Details, fmt.Sprintf(format, args...))
}

// word is a name that a shell takes literally. The writer of a status must not be able to
// write what a person copies into a shell.
var word = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.:]*$`)

// remedy adds what helps. The arguments are those of the command, which is left out if one of
// them is not a name.
func (x explanation) remedy(text, command string, args ...any) {
	x.cause.Remedies = append(x.cause.Remedies, Remedy{Text: text, Command: commandOf(command, args...)})
}

func commandOf(command string, args ...any) string {
	for _, a := range args {
		if text, ok := a.(string); ok && !word.MatchString(text) {
			return ""
		}
	}
	return fmt.Sprintf(command, args...)
}

// kindOf and nameIn read the name of an object with its kind: "Pod shop/cart-0".
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

// leftover matches how condition PodsLeft names each object, with the reason and the obstacle.
var leftover = regexp.MustCompile(`((?:Pod|Volume) [^ ]+) \(([A-Za-z]+)(?:, ([^)]+))?\)`)

// ofTheLeft joins what is left behind for the same reason into one cause, as far as the
// condition names it.
func ofTheLeft(f Facts, e *event, all []*event, condition metav1.Condition, now time.Time) []Cause {
	var found causes
	for _, match := range leftover.FindAllStringSubmatch(condition.Message, -1) {
		object, k := match[1], key{match[2], match[3]}
		if k.by == "" && kindOf(object) == "Volume" {
			k.by = object
		}
		entry, _ := reasons.Lookup(reasons.Blocker, k.code)
		c := found.of(k, Cause{
			Place: reasons.PodsLeft, Event: e.Name, Since: &condition.LastTransitionTime, Text: entry.Means, Passes: true,
			Reference: reasons.Reference(k.code),
		})
		c.Objects = append(c.Objects, object)
	}
	if len(found.all) == 0 {
		return []Cause{ofTheCondition(f, e, all, condition, now)}
	}
	return found.explained(f, e, now)
}

// ofTheCondition returns the cause that a condition reports.
func ofTheCondition(f Facts, e *event, all []*event, c metav1.Condition, now time.Time) Cause {
	place := reasons.Place(c.Type)
	entry, known := reasons.Lookup(place, c.Reason)
	if !known && place == reasons.PodsLeft {
		entry, _ = reasons.Lookup(reasons.Blocker, c.Reason)
		entry.Passes = true // it is not waited for
	}
	cause := Cause{
		Code: c.Reason, Place: place, Event: e.Name, Objects: []string{"LifecycleEvent " + e.Name},
		Text: cmp.Or(entry.Matter(c.Message), entry.Means), Since: &c.LastTransitionTime, Reference: reasons.Reference(c.Reason),
	}
	cause.Passes = place == reasons.PodsLeft || passes(entry, cause.Since, now)
	x := explanation{f, e, &cause, now}
	if explain, ok := conditionExplainers[c.Reason]; ok && place != reasons.PodsLeft {
		explain(x, all)
	}
	if len(cause.Remedies) == 0 && entry.Helps != "" {
		x.remedy(entry.Helps, "")
	}
	return cause
}

func notNoticed(f Facts, e *event, now time.Time) Cause {
	entry, _ := reasons.Lookup(reasons.Explained, reasons.CodeNotNoticed)
	c := Cause{
		Code: reasons.CodeNotNoticed, Place: reasons.Explained, Event: e.Name, Objects: []string{"LifecycleEvent " + e.Name},
		Since: &e.CreationTimestamp, Text: entry.Means, Reference: reasons.Reference(reasons.CodeNotNoticed),
	}
	c.Passes = passes(entry, c.Since, now)
	x := explanation{f, e, &c, now}
	x.agentPod()
	x.controller()
	x.remedy("see Slipway's pods", "kubectl -n %s get pods -o wide", f.Namespace)
	return c
}
