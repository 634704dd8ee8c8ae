// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"
)

func TestObjectsThatProcessesKeepAreSmall(t *testing.T) {
	const rules = "drainrules"
	many := func(n int, entry string) string {
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(entry, "#", fmt.Sprint(i)))
		}
		return strings.Join(all, ", ")
	}
	annotated := func(bytes int) string {
		return event(", annotations: {a: '"+strings.Repeat("x", bytes-1)+"'}", "", "Pending")
	}
	labelled := func(n int) string { return event(", labels: {"+many(n, "a#: b")+"}", "", "Pending") }
	kept := func(n int) string { return event(", finalizers: ["+many(n, "a.b/#")+"]", "", "Pending") }
	owned := func(n int) string { return event(", ownerReferences: ["+many(n, "{uid: u#}")+"]", "", "Pending") }
	rule := func(spec string) string { return "{metadata: {name: a, namespace: b}, spec: {" + spec + "}}" }
	values := func(bytes int) string {
		return rule("podSelector: {matchLabels: {app: a}}, namespaceSelector: {matchExpressions: [{key: k, operator: In, values: [" +
			many(bytes/10, "'#"+strings.Repeat("x", 9)+"'") + "]}]}")
	}
	const annotations, labels, finalizers, owners, selectors = "metadata.annotations: at", "metadata.labels: at", "metadata.finalizers: at", "metadata.ownerReferences: at", "spec: podSelector"
	refusals(t, "object-sizes.yaml", map[string]refused{
		"a small one":                      {request{alice, events, "", event("", "", "Pending")}, ""},
		"annotations of 32 KiB":            {request{alice, events, "", annotated(32 << 10)}, ""},
		"annotations of more":              {request{agentOfA, events, "", annotated(32<<10 + 1)}, annotations},
		"annotations that grow":            {request{alice, events, annotated(1 << 10), annotated(40 << 10)}, annotations},
		"annotations that were so before":  {request{controller, events, annotated(40 << 10), annotated(40 << 10)}, ""},
		"annotations that shrink":          {request{alice, events, annotated(50 << 10), annotated(40 << 10)}, ""},
		"annotations of a third party":     {request{driverOnA, "lifecycletransitions", "", annotated(40 << 10)}, annotations},
		"64 labels":                        {request{alice, events, "", labelled(64)}, ""},
		"65 labels":                        {request{alice, events, "", labelled(65)}, labels},
		"16 finalizers":                    {request{alice, events, "", kept(16)}, ""},
		"17 finalizers":                    {request{alice, events, "", kept(17)}, finalizers},
		"16 owners":                        {request{alice, events, "", owned(16)}, ""},
		"17 owners":                        {request{alice, events, "", owned(17)}, owners},
		"a rule":                           {request{alice, rules, "", rule("podSelector: {matchLabels: {app: a}}, behavior: Skip")}, ""},
		"a rule without selectors":         {request{alice, rules, "", rule("behavior: Skip")}, ""},
		"a rule with many values":          {request{alice, rules, "", values(20 << 10)}, ""},
		"a rule with too many values":      {request{alice, rules, "", values(40 << 10)}, selectors},
		"such a rule, that was so before":  {request{alice, rules, values(40 << 10), values(40 << 10)}, ""},
		"a rule with a selector of labels": {request{alice, rules, "", rule("nodeSelector: {matchLabels: {a: '" + strings.Repeat("x", 40<<10) + "'}}")}, selectors},
	})
}

// A transition is requested by those who may use it.
func TestWhoRequestsATransition(t *testing.T) {
	const needed = "spec.transitionName: alice needs the verb use on lifecycletransition drain"
	refusals(t, "use-transitions.yaml", map[string]refused{
		"without the permission":  {request{alice, events, "", event("", "", "Pending")}, needed},
		"for another transition":  {request{alice.with("use lifecycletransitions wipe"), events, "", event("", "", "Pending")}, needed},
		"with another permission": {request{alice.with("open-guards"), events, "", event("", "", "Pending")}, needed},
		"for this transition":     {request{alice.with("use lifecycletransitions drain"), events, "", event("", "", "Pending")}, ""},
		"for all transitions":     {request{alice.with("use"), events, "", event("", "", "Pending")}, ""},
	})
}
