// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"
)

const maintenances = "nodemaintenances"

// maintenance is a NodeMaintenance, with more in its metadata and spec.
func maintenance(metadata, selector, spec string) string {
	return "{metadata: {name: any" + metadata + "}, spec: {nodeSelector: {nodeSelectorTerms: [" + selector + "]}" + spec + "}}"
}

// ofPool selects by a label; byName names nodes, one in each term.
const ofPool = "{matchExpressions: [{key: pool, operator: In, values: [blue]}]}"

func byName(names ...string) string {
	var terms []string
	for _, name := range names {
		terms = append(terms, "{matchFields: [{key: metadata.name, operator: In, values: ["+name+"]}]}")
	}
	return strings.Join(terms, ", ")
}

func TestWhoMayHaveNodesMaintained(t *testing.T) {
	const lacks = "spec.nodeSelector: alice needs the verb delete on the nodes that are selected"
	pool := maintenance("", ofPool, "")
	deletesAll := alice.with("delete nodes")
	deletesA := alice.with("delete nodes a")
	deletesAB := deletesA.with("delete nodes b")
	onA, onAB := maintenance("", byName("a"), ""), maintenance("", byName("a", "b"), "")
	var eight, nine []string
	deletesMany := alice
	for i := range 9 {
		name := fmt.Sprintf("n%d", i)
		deletesMany = deletesMany.with("delete nodes " + name)
		if nine = append(nine, name); i < 8 {
			eight = append(eight, name)
		}
	}
	collector := caller{name: "system:serviceaccount:kube-system:generic-garbage-collector"}
	const finalizer = ", finalizers: [nodemaintenance.k8s.io/maintenance-completion]"
	refusals(t, "maintenances.yaml", map[string]refused{
		"create, without the right":           {request{alice, maintenances, "", pool}, lacks},
		"create, with another right":          {request{alice.with("delete pods"), maintenances, "", pool}, lacks},
		"create, with it":                     {request{deletesAll, maintenances, "", pool}, ""},
		"create, with it for one node":        {request{deletesA, maintenances, "", pool}, lacks},
		"one by name, with it for that":       {request{deletesA, maintenances, "", onA}, ""},
		"two by name, with it for one":        {request{deletesA, maintenances, "", onAB}, lacks},
		"two by name, with it for both":       {request{deletesAB, maintenances, "", onAB}, ""},
		"some by name, others not":            {request{deletesA, maintenances, "", maintenance("", byName("a")+", "+ofPool, "")}, lacks},
		"all but one by name":                 {request{deletesA, maintenances, "", maintenance("", "{matchFields: [{key: metadata.name, operator: NotIn, values: [a]}]}", "")}, lacks},
		"by a label that is like a name":      {request{deletesA, maintenances, "", maintenance("", "{matchExpressions: [{key: metadata.name, operator: In, values: [a]}]}", "")}, lacks},
		"as many by name as can be asked for": {request{deletesMany, maintenances, "", maintenance("", byName(eight...), "")}, ""},
		"one more":                            {request{deletesMany, maintenances, "", maintenance("", byName(nine...), "")}, lacks},
		"no nodes at all, without the right":  {request{alice, maintenances, "", maintenance("", "", "")}, ""},
		"change the stage":                    {request{alice, maintenances, pool, maintenance("", ofPool, ", stage: Drain")}, lacks},
		"change the stage, with the right":    {request{deletesAll, maintenances, pool, maintenance("", ofPool, ", stage: Drain")}, ""},
		"select others":                       {request{deletesA, maintenances, onA, onAB}, lacks},
		"select others, with it for both":     {request{deletesAB, maintenances, onA, onAB}, "spec.nodeSelector: to change it, alice needs"},
		"select others, with the right":       {request{deletesAll, maintenances, onA, pool}, ""},
		"let go of some":                      {request{deletesA, maintenances, pool, onA}, "spec.nodeSelector: to change it, alice needs"},
		"let go of all":                       {request{alice, maintenances, pool, maintenance("", "", "")}, "spec.nodeSelector: to change it, alice needs"},
		"label it":                            {request{alice, maintenances, pool, maintenance(", labels: {a: b}", ofPool, "")}, ""},
		"delete":                              {request{alice, maintenances, pool, ""}, lacks},
		"delete, with the right":              {request{deletesAll, maintenances, pool, ""}, ""},
		"delete one by name, with it":         {request{deletesA, maintenances, onA, ""}, ""},
		"have it collected":                   {request{alice, maintenances, pool, maintenance(", ownerReferences: [{uid: u}]", ofPool, "")}, lacks},
		"the collector":                       {request{collector, maintenances, pool, ""}, ""},
		"the collector, who changes":          {request{collector, maintenances, pool, maintenance("", ofPool, ", paused: true")}, "spec.nodeSelector: " + collector.name},
		"take the finalizer away":             {request{alice, maintenances, maintenance(finalizer, ofPool, ""), pool}, lacks},
		"the controller sets the finalizer":   {request{controller, maintenances, pool, maintenance(finalizer, ofPool, "")}, ""},
		"the controller completes":            {request{controller, maintenances, maintenance(finalizer, ofPool, ", stage: Drain"), maintenance(finalizer, ofPool, ", stage: Complete")}, ""},
		"the controller begins":               {request{controller, maintenances, pool, maintenance("", ofPool, ", stage: Drain")}, "spec.nodeSelector: " + controllerName},
		"the controller completes more":       {request{controller, maintenances, pool, maintenance("", ofPool, ", stage: Complete, retry: 1")}, "spec.nodeSelector: " + controllerName},
		"the controller completes others":     {request{controller, maintenances, onA, maintenance("", byName("b"), ", stage: Complete")}, "spec.nodeSelector: " + controllerName},
		"the controller deletes":              {request{controller, maintenances, pool, ""}, "spec.nodeSelector: " + controllerName},
	})
}

func TestWhatADrainPlanCanSay(t *testing.T) {
	planned := func(entries string) string { return maintenance("", ofPool, ", drainPlan: ["+entries+"]") }
	may := alice.with("delete nodes")
	const (
		overrides = "spec.drainPlan: a podType other than Default needs"
		label     = "spec.drainPlan: podSelector.matchLabels has"
		selector  = "spec.drainPlan: podSelector.matchExpressions has"
	)
	of := func(selector string) string {
		return planned("{podType: Default, podPriority: 5, podSelector: " + selector + "}")
	}
	daemons := planned("{podType: DaemonSet, podPriority: 5}")
	refusals(t, "maintenances.yaml", map[string]refused{
		"ordinary pods":                   {request{may, maintenances, "", planned("{podType: Default, podPriority: 5}, {podType: Default, podPriority: 6}")}, ""},
		"DaemonSets":                      {request{may, maintenances, "", daemons}, overrides},
		"DaemonSets, with the right":      {request{may.with("override-budgets"), maintenances, "", daemons}, ""},
		"DaemonSets, later":               {request{may, maintenances, daemons, strings.Replace(daemons, "drainPlan", "stage: Drain, drainPlan", 1)}, ""},
		"DaemonSets, deleted":             {request{may, maintenances, daemons, ""}, ""},
		"static pods":                     {request{may, maintenances, "", planned("{podType: Static, podPriority: 5}")}, overrides},
		"an entry twice":                  {request{may, maintenances, "", planned("{podType: Default, podPriority: 5}, {podType: Default, podPriority: 5}")}, "spec.drainPlan: an entry is there twice"},
		"labels":                          {request{may, maintenances, "", of("{matchLabels: {app.example.com/name: web}}")}, ""},
		"a key that is none":              {request{may, maintenances, "", of("{matchLabels: {a b: web}}")}, label},
		"a value that is none":            {request{may, maintenances, "", of("{matchLabels: {app: a/b}}")}, label},
		"expressions":                     {request{may, maintenances, "", of("{matchExpressions: [{key: app, operator: In, values: [web]}, {key: b, operator: Exists}]}")}, ""},
		"an expression without a value":   {request{may, maintenances, "", of("{matchExpressions: [{key: app, operator: In}]}")}, selector},
		"an expression with too many":     {request{may, maintenances, "", of("{matchExpressions: [{key: app, operator: Exists, values: [web]}]}")}, selector},
		"an operator that is none":        {request{may, maintenances, "", of("{matchExpressions: [{key: app, operator: Gt, values: ['1']}]}")}, selector},
		"a key that is none, expressed":   {request{may, maintenances, "", of("{matchExpressions: [{key: a b, operator: Exists}]}")}, selector},
		"a value that is none, expressed": {request{may, maintenances, "", of("{matchExpressions: [{key: app, operator: In, values: [a/b]}]}")}, selector},
	})
}

func TestWhoMayHaveAMaintenanceOverrideBudgets(t *testing.T) {
	const overrides = "spec.drain.escalation.deleteAfter needs"
	drain := func(fields, more string) string { return maintenance("", ofPool, ", drain: {"+fields+"}"+more) }
	may := alice.with("delete nodes")
	plain, deleting := drain("gracePeriodSeconds: 5", ""), drain("escalation: {deleteAfter: 5m}", "")
	refusals(t, "maintenances.yaml", map[string]refused{
		"no escalation":               {request{may, maintenances, "", plain}, ""},
		"a deletion":                  {request{may, maintenances, "", deleting}, overrides},
		"a deletion, with the right":  {request{may.with("override-budgets"), maintenances, "", deleting}, ""},
		"a deletion that never comes": {request{may, maintenances, "", drain("escalation: {deleteAfter: 0s}", "")}, ""},
		"a kill alone":                {request{may, maintenances, "", drain("escalation: {killAfter: 5m}", "")}, ""},
		"a deletion, later":           {request{may, maintenances, plain, deleting}, overrides},
		"an earlier deletion":         {request{may, maintenances, deleting, drain("escalation: {deleteAfter: 1m}", "")}, overrides},
		"a deletion that is there":    {request{may, maintenances, deleting, drain("escalation: {deleteAfter: 5m}", ", stage: Drain")}, ""},
		"a deletion for other nodes":  {request{may, maintenances, deleting, strings.Replace(deleting, "blue", "green", 1)}, overrides},
		"no deletion any more":        {request{may, maintenances, deleting, plain}, ""},
		"delete it":                   {request{may, maintenances, deleting, ""}, ""},
	})
}

func TestWhoMayHaveAMaintenanceTakeNodesOver(t *testing.T) {
	const needed = "spec.heldNodes: TakeOver needs the verb release-holds"
	may := alice.with("delete nodes")
	waits, takes := maintenance("", ofPool, ", heldNodes: Wait"), maintenance("", ofPool, ", heldNodes: TakeOver")
	refusals(t, "maintenances.yaml", map[string]refused{
		"it waits":                       {request{may, maintenances, "", waits}, ""},
		"a user":                         {request{may, maintenances, "", takes}, needed},
		"a user with another permission": {request{may.with("override-budgets"), maintenances, "", takes}, needed},
		"a user with the permission":     {request{may.with("release-holds"), maintenances, "", takes}, ""},
		"later":                          {request{may, maintenances, waits, takes}, needed},
		"later, where nothing was":       {request{may, maintenances, maintenance("", ofPool, ""), takes}, needed},
		"it is there":                    {request{may, maintenances, takes, strings.Replace(takes, "heldNodes", "stage: Drain, heldNodes", 1)}, ""},
		"it is there, for other nodes":   {request{may, maintenances, takes, strings.Replace(takes, "blue", "green", 1)}, needed},
		"no longer":                      {request{may, maintenances, takes, waits}, ""},
		"delete it":                      {request{may, maintenances, takes, ""}, ""},
	})
}

func TestWhoIsWarnedOfAllNodes(t *testing.T) {
	const warning = "spec.nodeSelector: this selects all nodes"
	by := func(expressions string) string { return maintenance("", "{matchExpressions: ["+expressions+"]}", "") }
	all := by("{key: kubernetes.io/hostname, operator: Exists}")
	refusals(t, "maintenance-warning.yaml", map[string]refused{
		"a pool":                         {request{alice, maintenances, "", maintenance("", ofPool, "")}, ""},
		"by name":                        {request{alice, maintenances, "", maintenance("", byName("a"), "")}, ""},
		"nothing":                        {request{alice, maintenances, "", maintenance("", "{}", "")}, ""},
		"every hostname":                 {request{alice, maintenances, "", all}, warning},
		"every system":                   {request{alice, maintenances, "", by("{key: kubernetes.io/os, operator: Exists}")}, warning},
		"all that run Linux":             {request{alice, maintenances, "", by("{key: kubernetes.io/os, operator: In, values: [linux]}")}, warning},
		"one hostname":                   {request{alice, maintenances, "", by("{key: kubernetes.io/hostname, operator: In, values: [a]}")}, ""},
		"those of a pool that run Linux": {request{alice, maintenances, "", by("{key: kubernetes.io/os, operator: In, values: [linux]}, {key: pool, operator: Exists}")}, ""},
		"a pool, and all":                {request{alice, maintenances, "", maintenance("", ofPool+", {matchExpressions: [{key: kubernetes.io/arch, operator: Exists}]}", "")}, warning},
		"all, with a stage":              {request{alice, maintenances, all, strings.Replace(all, "nodeSelector", "stage: Drain, nodeSelector", 1)}, ""},
		"all, where it was a pool":       {request{alice, maintenances, maintenance("", ofPool, ""), all}, warning},
	})
}

func TestWhoAsksForAMaintenanceInWhoseName(t *testing.T) {
	in := func(name string) string { return maintenance("", ofPool, ", requestedBy: "+name) }
	refusals(t, "requester.yaml", map[string]refused{
		"in nobody's":    {request{alice, maintenances, "", maintenance("", ofPool, "")}, ""},
		"in one's own":   {request{alice, maintenances, "", in("alice")}, ""},
		"in another's":   {request{alice, maintenances, "", in("bob")}, "spec.requestedBy must be alice"},
		"the controller": {request{controller, maintenances, "", in("bob")}, ""},
	})
	policy := newMutator(t, "requester-default.yaml")
	if got := (request{alice, maintenances, "", "{spec: {stage: Idle}}"}).specAfter(t, policy); got != `{"requestedBy":"alice","stage":"Idle"}` {
		t.Errorf("got %s", got)
	}
}

func TestWhoNotesWhatIsOfAMaintenance(t *testing.T) {
	const refusal = "metadata: the labels, annotations and finalizers slipway.dev/"
	plain := event("", "", "Claimed")
	labelled := event(", labels: {slipway.dev/maintenance: drain}", "", "Claimed")
	noted := event(", annotations: {slipway.dev/maintenances: '[]'}", "", "Claimed")
	again := event(", annotations: {slipway.dev/cordoned-again: '9'}", "", "Claimed")
	kept := event(", finalizers: [slipway.dev/maintenance]", "", "Claimed")
	named := func(name string) string {
		return strings.Replace(event("", "", "Pending"), "name: any", "name: "+name, 1)
	}
	hooked := event(", annotations: {slipway.dev/maintenances: '[]', hook.slipway.dev/a: Open, slipway.dev/work-done: alice}", "", "Claimed")
	protected := event(", finalizers: [slipway.dev/maintenance, lifecycle.k8s.io/claim-protection]", "", "Claimed")
	refusals(t, "event-records.yaml", map[string]refused{
		"an event of its own":               {request{alice, events, "", plain}, ""},
		"one of a maintenance":              {request{alice, events, "", labelled}, refusal},
		"one with an empty label":           {request{alice, events, "", event(", labels: {slipway.dev/maintenance: ''}", "", "Pending")}, refusal},
		"empty the label":                   {request{alice, events, labelled, event(", labels: {slipway.dev/maintenance: ''}", "", "Pending")}, refusal},
		"one with a maintenance's name":     {request{alice, events, "", named("maintenance-a-return")}, refusal},
		"one with a shutdown's name":        {request{alice, events, "", named("shutdown-a-1")}, refusal},
		"one with a name like it":           {request{alice, events, "", named("my-maintenance-a")}, ""},
		"the controller, with its name":     {request{controller, events, "", named("maintenance-a")}, ""},
		"one that says for which":           {request{alice, events, "", noted}, refusal},
		"one that is kept":                  {request{alice, events, "", kept}, refusal},
		"label one":                         {request{alice, events, plain, labelled}, refusal},
		"take the label":                    {request{alice, events, labelled, plain}, refusal},
		"say for which":                     {request{alice, events, plain, noted}, refusal},
		"say for none":                      {request{alice, events, noted, plain}, refusal},
		"count its cordons":                 {request{alice, events, plain, again}, refusal},
		"let it go":                         {request{alice, events, kept, plain}, refusal},
		"let it go, with another right":     {request{alice.with("override-budgets"), events, kept, plain}, refusal},
		"let it go, where nobody else does": {request{alice.with("open-guards"), events, kept, plain}, ""},
		"open a hook, and do the work":      {request{alice, events, noted, hooked}, ""},
		"an agent, its own finalizer":       {request{agentOfA, events, kept, protected}, ""},
		"an agent, ours":                    {request{agentOfA, events, kept, plain}, refusal},
		"the controller":                    {request{controller, events, "", labelled}, ""},
	})
}
