// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// patience is how long what passes by itself may take. What takes longer may not pass.
const patience = 2 * time.Minute

// bounded are the codes of what ends by itself however long it takes.
var bounded = map[string]bool{
	"AwaitingResponder": true, "PodTimedOut": true, "PodSkipped": true, "PodRecurring": true, "StaticPodLeft": true, "LeftBehind": true,
	lifecyclev1alpha1.ReasonWaitingForTurn: true,
}

func passes(entry reasons.Entry, since *metav1.Time, now time.Time) bool {
	return entry.Passes && (bounded[entry.Code] || since == nil || now.Sub(since.Time) < patience)
}

// group is what one cause says of several blockers.
type group struct{ code, by string }

// ofBlockersOf makes one cause of all blockers with the same reason and the same object in
// the way.
func ofBlockersOf(f Facts, e *event, now time.Time) []Cause {
	var order []group
	found := map[group]*Cause{}
	for _, b := range e.Status.Blockers {
		g := group{b.Reason, b.By}
		c, ok := found[g]
		if !ok {
			c = &Cause{Code: b.Reason, Place: reasons.Blocker, Event: e.Name, By: b.By, Text: b.Message, Reference: reasons.Page + reasons.Anchor(b.Reason)}
			found[g], order = c, append(order, g)
		}
		c.Objects = append(c.Objects, b.Object)
		if b.Since != nil && (c.Since == nil || b.Since.Before(c.Since)) {
			c.Since = b.Since
		}
	}
	var causes []Cause
	for _, g := range order {
		c := found[g]
		entry, known := reasons.Lookup(reasons.Blocker, c.Code)
		if !known {
			c.Reference = ""
		}
		c.Text = entry.Matter(c.Text)
		if c.Text == "" {
			c.Text = entry.Means
		}
		c.Passes = passes(entry, c.Since, now)
		tell(f, e, c, now)
		causes = append(causes, *c)
	}
	return causes
}

// tell adds what the facts say of a cause, and what helps.
func tell(f Facts, e *event, c *Cause, now time.Time) {
	if teller, ok := tellers[c.Code]; ok {
		teller(telling{f, e, c, now})
		return
	}
	if entry, ok := reasons.Lookup(c.Place, c.Code); ok && entry.Helps != "" {
		c.Remedies = append(c.Remedies, Remedy{Text: entry.Helps})
	}
}

// telling is what a teller is given: it adds to the cause.
type telling struct {
	Facts
	event *event
	cause *Cause
	now   time.Time
}

func (t telling) detail(format string, args ...any) {
	t.cause.Details = append(t.cause.Details, fmt.Sprintf(format, args...))
}

// word is a name that a shell takes as it stands. Whoever writes the status must not write
// what somebody copies into a shell.
var word = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.:]*$`)

// remedy adds what helps. The arguments are of the command, which is left out where one of
// them is no name.
func (t telling) remedy(text, command string, args ...any) {
	t.cause.Remedies = append(t.cause.Remedies, Remedy{Text: text, Command: commandOf(command, args...)})
}

func commandOf(command string, args ...any) string {
	for _, a := range args {
		if text, ok := a.(string); ok && !word.MatchString(text) {
			return ""
		}
	}
	return fmt.Sprintf(command, args...)
}

// kindOf and nameIn read what names an object with its kind: "Pod shop/cart-0".
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

// first is the namespace and name of the first object.
func (t telling) first() (namespace, name string) {
	if len(t.cause.Objects) == 0 {
		return "", ""
	}
	return nameIn(t.cause.Objects[0])
}
