// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWhoAsksInWhoseName(t *testing.T) {
	in := func(name string) string { return event("", ", requestedBy: "+name, "Pending") }
	refusals(t, "requester.yaml", map[string]refused{
		"in nobody's":            {request{alice, events, "", event("", "", "Pending")}, ""},
		"in one's own":           {request{alice, events, "", in("alice")}, ""},
		"in another's":           {request{alice, events, "", in("bob")}, "spec.requestedBy must be alice"},
		"the controller":         {request{controller, events, "", in("bob")}, ""},
		"with all rights":        {request{alice.with("*"), events, "", in("bob")}, "spec.requestedBy must be alice"},
		"as the agent of a node": {request{agentOfA, events, "", in(controllerName)}, "spec.requestedBy must be " + agentName},
	})
	policy := newMutator(t, "requester-default.yaml")
	for now, want := range map[string]string{
		event("", "", "Pending"): `{"bindingNode":"a","requestedBy":"alice","transitionName":"drain"}`,
		in("bob"):                `{"bindingNode":"a","requestedBy":"bob","transitionName":"drain"}`,
		"{metadata: {}}":         `null`,
	} {
		if got := (request{alice, events, "", now}).specAfter(t, policy); got != want {
			t.Errorf("%s: got %s, want %s", now, got, want)
		}
	}
}

func TestWhoMayHaveBudgetsOverridden(t *testing.T) {
	drain := func(parameters string) string {
		return event("", ", parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters"+parameters+"}", "Pending")
	}
	const (
		deletes  = "spec.parameters.escalation.deleteAfter needs"
		targeted = "spec.parameters.targets: a podType other than Default needs"
	)
	none, plain := event("", "", "Pending"), drain(", hold: true")
	deleting := drain(", escalation: {deleteAfter: 1s}")
	daemons := drain(", targets: [{podType: Default}, {podType: DaemonSet}]")
	may := alice.with("override-budgets")
	ofMaintenance := func(event string) string {
		return strings.Replace(event, "{name: any", "{name: any, labels: {slipway.dev/maintenance: drain}", 1)
	}
	ofShutdown := func(event string) string {
		return strings.Replace(event, "{name: any", "{name: any, finalizers: [slipway.dev/shutdown]", 1)
	}
	refusals(t, "override-budgets.yaml", map[string]refused{
		"no parameters":                             {request{alice, events, "", none}, ""},
		"parameters that override nothing":          {request{alice, events, "", plain}, ""},
		"a deletion":                                {request{alice, events, "", deleting}, deletes},
		"a deletion, with the right":                {request{may, events, "", deleting}, ""},
		"a deletion, with another right":            {request{alice.with("open-guards"), events, "", deleting}, deletes},
		"a deletion that never comes":               {request{alice, events, "", drain(", escalation: {deleteAfter: 0s}")}, ""},
		"a kill alone":                              {request{alice, events, "", drain(", escalation: {killAfter: 1m}")}, ""},
		"ordinary pods":                             {request{alice, events, "", drain(", targets: [{podType: Default}]")}, ""},
		"DaemonSets":                                {request{alice, events, "", daemons}, targeted},
		"DaemonSets, with the right":                {request{may, events, "", daemons}, ""},
		"static pods":                               {request{alice, events, "", drain(", targets: [{podType: Static}]")}, targeted},
		"pods of no type":                           {request{alice, events, "", drain(", targets: [{}]")}, targeted},
		"parameters of others":                      {request{alice, events, "", event("", ", parameters: {kind: X, escalation: now, targets: 7}", "Pending")}, ""},
		"a deletion, later":                         {request{alice, events, plain, deleting}, deletes},
		"a deletion, where nothing was":             {request{alice, events, none, deleting}, deletes},
		"a deletion, later, with the right":         {request{may, events, plain, deleting}, ""},
		"a deletion that is there":                  {request{alice, events, deleting, deleting}, ""},
		"no deletion any more":                      {request{alice, events, deleting, plain}, ""},
		"what was of others becomes a drain's":      {request{alice, events, event("", ", parameters: {kind: X, escalation: {deleteAfter: 1s}}", "Pending"), deleting}, deletes},
		"an agent's finalizer, with a deletion":     {request{agentOfA, events, deleting, deleting}, ""},
		"the controller":                            {request{controller, events, "", deleting}, deletes},
		"the controller, DaemonSets":                {request{controller, events, "", daemons}, targeted},
		"a maintenance, DaemonSets":                 {request{controller, events, "", ofMaintenance(daemons)}, ""},
		"a maintenance, a deletion":                 {request{controller, events, "", ofMaintenance(deleting)}, ""},
		"a maintenance of somebody's":               {request{alice, events, "", ofMaintenance(daemons)}, targeted},
		"a deletion of a maintenance of somebody's": {request{alice, events, "", ofMaintenance(deleting)}, deletes},
		"a shutdown, DaemonSets":                    {request{controller, events, "", ofShutdown(daemons)}, ""},
		"a shutdown, static pods":                   {request{controller, events, "", ofShutdown(drain(", targets: [{podType: Static}]"))}, targeted},
		"a shutdown, a deletion":                    {request{controller, events, "", ofShutdown(deleting)}, deletes},
		"a shutdown of somebody's":                  {request{alice, events, "", ofShutdown(daemons)}, targeted},
	})
}

func TestWhoMayReleaseAForeignClaim(t *testing.T) {
	const needed = "metadata.annotations: slipway.dev/release-claim needs"
	claimed, released := event("", "", "Claimed"), event(", annotations: {slipway.dev/release-claim: x}", "", "Claimed")
	may := alice.with("release-claims")
	refusals(t, "release-claims.yaml", map[string]refused{
		"a user":                           {request{alice, events, claimed, released}, needed},
		"a user with another permission":   {request{alice.with("open-guards"), events, claimed, released}, needed},
		"a user with the permission":       {request{may, events, claimed, released}, ""},
		"the controller":                   {request{controller, events, claimed, released}, needed},
		"an agent":                         {request{agentOfA, events, claimed, released}, needed},
		"a new event that has it":          {request{alice, events, "", released}, needed},
		"an event that has it, a change":   {request{agentOfA, events, released, released}, ""},
		"an event without it, any change":  {request{alice, events, claimed, claimed}, ""},
		"a user without it takes it off":   {request{alice, events, released, claimed}, ""},
		"the claimer sets another of them": {request{alice, events, claimed, event(", annotations: {a: b}", "", "Claimed")}, ""},
	})
}

func TestWhoMayReleaseTheHoldsOfOthers(t *testing.T) {
	const needed = "spec.parameters.release needs the verb release-holds"
	own, all := event("", "", "Pending"), event("", ", parameters: {release: All}", "Pending")
	refusals(t, "release-holds.yaml", map[string]refused{
		"a user":                         {request{alice, events, "", all}, needed},
		"a user with another permission": {request{alice.with("release-claims"), events, "", all}, needed},
		"a user with the permission":     {request{alice.with("release-holds"), events, "", all}, ""},
		"the controller":                 {request{controller, events, "", all}, needed},
		"an event that gets it":          {request{alice, events, own, all}, needed},
		"an event that has it, a change": {request{agentOfA, events, all, all}, ""},
		"an event without it":            {request{alice, events, "", own}, ""},
		"the parameters of a drain":      {request{alice, events, "", event("", ", parameters: {kind: DrainParameters}", "Pending")}, ""},
	})
}

func TestAPersonWhoUncordonsANodeIsNamedOnIt(t *testing.T) {
	const by, needed = "slipway.dev/uncordoned-by", "metadata.annotations: slipway.dev/uncordoned-by is written by"
	node := func(annotations, spec string) string {
		return "{metadata: {name: a" + annotations + "}, spec: {" + spec + "}}"
	}
	noted := func(by string) string { return ", annotations: {slipway.dev/uncordoned-by: " + by + "}" }
	const nodes, cordoned = "nodes", "unschedulable: true"
	kubelet := caller{name: "system:node:a"}
	policy := newMutator(t, "guards/uncordons.yaml")
	for name, tc := range map[string]struct {
		who           caller
		before, after string
		want          string
	}{
		"a person":                     {alice, node("", cordoned), node("", ""), alice.name},
		"a person, on a node with one": {alice, node(noted("bob"), cordoned), node(noted("bob"), ""), alice.name},
		"the node":                     {kubelet, node("", cordoned), node("", ""), ""},
		"the controller":               {controller, node("", cordoned), node("", ""), ""},
		"a cordon":                     {kubelet, node(noted("bob"), ""), node(noted("bob"), cordoned), ""},
		"no change":                    {alice, node(noted("bob"), ""), node(noted("bob"), ""), "bob"},
	} {
		if got := (request{tc.who, nodes, tc.before, tc.after}).after(t, policy, nil).GetAnnotations()[by]; got != tc.want {
			t.Errorf("%s: the annotation is %q; want %q", name, got, tc.want)
		}
	}
	refusals(t, nodeRecords, map[string]refused{
		"a person who uncordons":           {request{alice, nodes, node("", cordoned), node(noted(alice.name), "")}, ""},
		"a person, in the name of another": {request{alice, nodes, node("", cordoned), node(noted("bob"), "")}, needed},
		"the node":                         {request{kubelet, nodes, node("", cordoned), node(noted("system:node:a"), "")}, needed},
		"a person, without an uncordon":    {request{alice, nodes, node("", ""), node(noted(alice.name), "")}, needed},
		"a new node":                       {request{alice, nodes, "", node(noted(alice.name), "")}, needed},
		"another change":                   {request{agentOfA, nodes, node(noted("bob"), ""), node(noted("bob"), cordoned)}, ""},
	})
}

func TestAPersonWhoTakesAHeldNodeIsWarned(t *testing.T) {
	const (
		byUsers       = `node a is held by user "bob" for "disk"; the holder may work on its machine`
		byMaintenance = "node a is out of service for NodeMaintenance night"
		cordoned      = "unschedulable: true"
	)
	node := func(annotations, spec, condition string) string {
		return "{metadata: {name: a" + annotations + "}, spec: {" + spec + "}, status: {conditions: [{type: MaintenanceInProgress, status: '" + condition + "', message: night}]}}"
	}
	held := `, annotations: {slipway.dev/held-by: 'user "bob" for "disk"'}`
	refusals(t, "guards/held-nodes.yaml", map[string]refused{
		"uncordons a held node":             {request{alice, "nodes", node(held, cordoned, "False"), node(held, "", "False")}, byUsers},
		"uncordons it, and hides it":        {request{alice, "nodes", node(held, cordoned, "False"), node("", "", "False")}, byUsers},
		"cordons it":                        {request{alice, "nodes", node(held, "", "False"), node(held, cordoned, "False")}, byUsers},
		"deletes it":                        {request{alice, "nodes", node(held, cordoned, "False"), ""}, byUsers},
		"labels it":                         {request{alice, "nodes", node(held, cordoned, "False"), node(held, cordoned, "False")}, ""},
		"uncordons a node of a maintenance": {request{alice, "nodes", node("", cordoned, "True"), node("", "", "True")}, byMaintenance},
		"uncordons a free node":             {request{alice, "nodes", node("", cordoned, "False"), node("", "", "False")}, ""},
		"a node without conditions":         {request{alice, "nodes", "{metadata: {name: a}, spec: {unschedulable: true}}", "{metadata: {name: a}, spec: {}}"}, ""},
		"the node itself":                   {request{caller{name: "system:node:a"}, "nodes", node(held, cordoned, "False"), node(held, "", "False")}, ""},
		"the controller":                    {request{controller, "nodes", node(held, cordoned, "False"), node(held, "", "False")}, ""},
	})
}

func TestTheGuardsGate(t *testing.T) {
	gates := func(names string) string { return event("", ", gates: ["+names+"]", "Pending") }
	const ours, others = "{name: slipway.dev/guards}", "{name: example.com/approval}"
	const removed = "spec.gates: slipway.dev/guards is removed by"
	none, both := event("", "", "Pending"), gates(others+", "+ours)
	refusals(t, "guards/guards.yaml", map[string]refused{
		"another's is removed":            {request{alice, events, both, gates(ours)}, ""},
		"it is removed":                   {request{alice, events, both, gates(others)}, removed},
		"all are removed":                 {request{alice, events, both, none}, removed},
		"it is removed, with the right":   {request{controller.with("open-guards"), events, both, gates(others)}, ""},
		"there was none":                  {request{alice, events, gates(others), none}, ""},
		"it is removed as the event goes": {request{alice, events, event(", deletionTimestamp: x", ", gates: ["+ours+"]", "Pending"), none}, ""},
	})
	policy := newMutator(t, "guards/guards.yaml")
	for now, want := range map[string]string{
		none:             `{"bindingNode":"a","gates":[{"name":"slipway.dev/guards"}],"transitionName":"drain"}`,
		gates(others):    `{"bindingNode":"a","gates":[{"name":"example.com/approval"},{"name":"slipway.dev/guards"}],"transitionName":"drain"}`,
		gates(ours):      `{"bindingNode":"a","gates":[{"name":"slipway.dev/guards"}],"transitionName":"drain"}`,
		"{metadata: {}}": `null`,
		"{spec: {transitionName: drain.slm.k8s.io-uncordon}}": `{"gates":[{"name":"slipway.dev/guards"}],"transitionName":"drain.slm.k8s.io-uncordon"}`,
	} {
		for _, by := range []caller{alice, controller} {
			if got := (request{by, events, "", now}).specAfter(t, policy); got != want {
				t.Errorf("%s by %s: got %s, want %s", now, by.name, got, want)
			}
		}
	}
	// An event that breaks the glass gets the finalizer of its hold instead.
	for now, want := range map[string][]string{
		event(", annotations: {slipway.dev/break-glass: x}", "", "Pending"):                      {"slipway.dev/hold"},
		event(", annotations: {slipway.dev/break-glass: x}, finalizers: [a.b/c]", "", "Pending"): {"a.b/c", "slipway.dev/hold"},
	} {
		after := (request{alice, events, "", now}).after(t, policy, nil)
		if got := after.GetFinalizers(); !slices.Equal(got, want) {
			t.Errorf("%s: got finalizers %q, want %q", now, got, want)
		}
		if _, gated, _ := unstructured.NestedSlice(after.Object, "spec", "gates"); gated {
			t.Errorf("%s: it got a gate", now)
		}
	}
}

func TestWhoMayBreakTheGlass(t *testing.T) {
	const needed, late, reason = "metadata.annotations: slipway.dev/break-glass, and spec.parameters.passFreezes, need the verb break-glass", "metadata.annotations: slipway.dev/break-glass is for new events", "spec.reason is required"
	const annotation = ", annotations: {slipway.dev/break-glass: x}"
	plain, broken := event("", ", reason: fire", "Pending"), event(annotation, ", reason: fire", "Pending")
	may := alice.with("break-glass")
	refusals(t, "break-glass.yaml", map[string]refused{
		"a user":                           {request{alice, events, "", broken}, needed},
		"a user with another permission":   {request{alice.with("open-guards"), events, "", broken}, needed},
		"a user with the permission":       {request{may, events, "", broken}, ""},
		"without a reason":                 {request{may, events, "", event(annotation, "", "Pending")}, reason},
		"the controller":                   {request{controller, events, "", broken}, needed},
		"an agent":                         {request{agentOfA, events, "", broken}, needed},
		"an event that gets it":            {request{alice, events, plain, broken}, needed},
		"an event that gets it, permitted": {request{may, events, plain, broken}, late},
		"an event that has it, a change":   {request{agentOfA, events, broken, broken}, ""},
		"it passes freezes":                {request{alice, events, "", event("", ", reason: fire, parameters: {passFreezes: true}", "Pending")}, needed},
		"it passes freezes, permitted":     {request{may, events, "", event("", ", reason: fire, parameters: {passFreezes: true}", "Pending")}, ""},
		"it passes freezes later":          {request{alice, events, plain, event("", ", reason: fire, parameters: {passFreezes: true}", "Pending")}, needed},
		"it passes no freezes":             {request{alice, events, "", event("", ", reason: fire, parameters: {passFreezes: false}", "Pending")}, ""},
		"parameters of others":             {request{alice, events, "", event("", ", parameters: {kind: X}", "Pending")}, ""},
		"an event without it":              {request{alice, events, "", plain}, ""},
	})
}

func TestWhoHandsAHoldOver(t *testing.T) {
	const (
		holdOnly = "spec: only alice hands this hold over"
		record   = "spec.transfer: by must be"
		meta     = "metadata: only Slipway's controller changes"
		resource = "nodeholds"
	)
	held := func(meta, spec string) string {
		return "{metadata: {name: h" + meta + "}, spec: {nodeName: a, eventName: e, eventUID: u, " + spec + "}}"
	}
	by := func(who string) string { return "user: bob, transfer: {by: " + who + ", fromUser: alice}" }
	const overdue = ", labels: {slipway.dev/overdue: 'true'}"
	mine, bobs := held("", "user: alice"), held("", by("alice"))
	bob, carol := caller{name: "bob"}, caller{name: "carol"}
	refusals(t, "node-holds.yaml", map[string]refused{
		"its holder":                            {request{alice, resource, mine, bobs}, ""},
		"its holder, with another expected end": {request{alice, resource, mine, held("", by("alice")+", until: '2026-01-02T03:04:05Z'")}, ""},
		"another user":                          {request{bob, resource, mine, held("", by("bob"))}, holdOnly},
		"another user, with the permission":     {request{bob.with("release-holds"), resource, mine, held("", by("bob"))}, ""},
		"another user, when it is overdue":      {request{carol, resource, held(overdue, "user: alice"), held(overdue, by("carol"))}, ""},
		"another user marks it as overdue":      {request{bob, resource, mine, held(overdue, "user: alice")}, holdOnly},
		"its holder marks it":                   {request{alice, resource, mine, held(overdue, "user: alice")}, meta},
		"its holder changes the owner":          {request{alice, resource, mine, held(", ownerReferences: [{apiVersion: v1, kind: Node, name: x, uid: y}]", "user: alice")}, meta},
		"without a record":                      {request{alice, resource, mine, held("", "user: bob")}, record},
		"in the name of another":                {request{alice, resource, mine, held("", by("carol"))}, record},
		"with a forged former holder":           {request{alice, resource, mine, held("", "user: bob, transfer: {by: alice, fromUser: carol}")}, record},
		"with a forged former actor":            {request{alice, resource, mine, held("", "user: bob, transfer: {by: alice, fromUser: alice, fromActor: x}")}, record},
		"to nobody":                             {request{alice, resource, mine, held("", "transfer: {by: alice, fromUser: alice}")}, "spec.user is required"},
		"of an unknown user":                    {request{alice, resource, held("", "purpose: x"), held("", by("alice"))}, "spec: only an administrator hands this hold over"},
		"of a maintenance":                      {request{alice.with("release-holds"), resource, held("", "user: alice, maintenance: night"), held("", by("alice")+", maintenance: night")}, "spec: the hold of a NodeMaintenance"},
		"the controller marks it":               {request{controller, resource, mine, held(overdue, "user: alice")}, ""},
		"an agent":                              {request{agentOfA, resource, mine, held("", by(agentName))}, holdOnly},
		"an agent marks it":                     {request{agentOfA, resource, mine, held(overdue, "user: alice")}, holdOnly},
		"it is being deleted":                   {request{bob, resource, held(", deletionTimestamp: x", "user: alice"), held("", "user: alice")}, ""},
	})
}
