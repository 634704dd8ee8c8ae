// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"strings"
	"testing"
)

const controllers = "system:serviceaccount:slipway-system:slipway-controller"

// lease writes the lease of node w1, renewed now, in the seconds that a script has.
func (s *script) lease(who, holder string, seconds int) *script {
	return s.add(who, "update", "leases", leasesOfNodes+"/w1", "", fmt.Sprintf(
		`{"kind":"Lease","metadata":{"name":"w1","namespace":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d,"renewTime":"2026-01-02T03:04:%02d.000000Z"}}`,
		leasesOfNodes, holder, seconds, len(s.requests)))
}

// writtenBy records a user in the lease that was written last.
func (s *script) writtenBy(user string) *script {
	return s.change(`"name":"w1",`, fmt.Sprintf(`"name":"w1","annotations":{"slipway.dev/written-by":%q},`, user))
}

// requestedBy records a user in the event that was written last.
func (s *script) requestedBy(user string) *script {
	return s.change(`"spec":{`, fmt.Sprintf(`"spec":{"requestedBy":%q,`, user))
}

// change changes the object of the last request.
func (s *script) change(before, after string) *script {
	last := &s.requests[len(s.requests)-1]
	last.Answer = []byte(strings.Replace(string(last.Answer), before, after, 1))
	return s
}

// cordon makes w1 unschedulable, and schedulable again.
func (s *script) cordon(who string) *script {
	node := `{"kind":"Node","metadata":{"name":"w1"},"spec":{"unschedulable":%t}}`
	return s.add(who, "patch", "nodes", "w1", "{}", fmt.Sprintf(node, true)).add(who, "patch", "nodes", "w1", "{}", fmt.Sprintf(node, false))
}

func (s *script) later(seconds int) *script {
	for range seconds {
		s.add(user, "get", "nodes", "w1", "", "{}")
	}
	return s
}

func TestCheckOfLeases(t *testing.T) {
	const theirs, taken = `cordons a node that "upgrader" has leased`, `writes the lease of "upgrader"`
	for name, tc := range map[string]outcome{
		"a cordon under our lease": {script: (&script{}).lease(controllers, "slipway", 900).cordon(agent)},
		"a cordon without any":     {script: (&script{}).cordon(agent)},
		"a cordon under theirs":    {script: (&script{}).lease(user, "upgrader", 60).cordon(agent), want: []string{theirs}},
		"somebody else's cordon":   {script: (&script{}).lease(user, "upgrader", 60).cordon(user)},
		"theirs is given back":     {script: (&script{}).lease(user, "upgrader", 60).lease(user, "", 1).cordon(agent)},
		"theirs is given back, and ours before that was answered": {
			script: (&script{}).lease(user, "upgrader", 60).later(1).lease(controllers, "slipway", 900).cordon(agent).lease(user, "", 1).slow(3),
		},
		"theirs is given back too late": {
			script: (&script{}).lease(user, "upgrader", 60).lease(controllers, "slipway", 900).lease(user, "", 1), want: []string{taken},
		},
		"theirs is deleted":          {script: (&script{}).lease(user, "upgrader", 60).add(user, "delete", "leases", leasesOfNodes+"/w1", "", "{}").cordon(agent)},
		"theirs has ended, 2 s ago":  {script: (&script{}).lease(user, "upgrader", 1).later(2).cordon(agent), want: []string{theirs}},
		"theirs has expired":         {script: (&script{}).lease(user, "upgrader", 1).later(5).cordon(agent)},
		"theirs was renewed":         {script: (&script{}).lease(user, "upgrader", 1).later(3).lease(user, "upgrader", 1).later(2).cordon(agent), want: []string{theirs}},
		"a person's never expires":   {script: (&script{}).lease(user, "kubeadmin-ada", 1).later(9).cordon(agent), want: []string{`"kubeadmin-ada" has leased`}},
		"theirs is taken from them":  {script: (&script{}).lease(user, "upgrader", 60).lease(controllers, "slipway", 900), want: []string{taken}},
		"theirs is given back by us": {script: (&script{}).lease(user, "upgrader", 60).lease(controllers, "", 1), want: []string{taken}},
		"an eviction under theirs": {
			script: begun().lease(user, "upgrader", 60).evict(agent, "a", "1").end("drain"), want: []string{`evicts from a node that "upgrader" has leased`},
		},
		"an eviction for the user that holds the lease": {
			script: begun().requestedBy("ada").lease(user, "upgrader", 60).writtenBy("ada").evict(agent, "a", "1").end("drain"),
		},
		"an eviction for another user": {
			script: begun().requestedBy("eve").lease(user, "upgrader", 60).writtenBy("ada").evict(agent, "a", "1").end("drain"),
			want:   []string{`evicts from a node that "upgrader" has leased`},
		},
		"a cordon within the budgets": {
			script: (&script{}).cordon(agent), options: Options{Budgets: []AvailabilityBudget{{Nodes: []string{"w1", "w2"}, MaxUnavailable: 1}}},
		},
		"a cordon beyond a budget": {
			script: (&script{}).cordon(agent), options: Options{Budgets: []AvailabilityBudget{{Nodes: []string{"w1", "w2"}}}},
			want: []string{"cordons 1 of the nodes [w1 w2], and 0 may be out"},
		},
		"somebody else's cordon beyond a budget": {
			script: (&script{}).cordon(user), options: Options{Budgets: []AvailabilityBudget{{Nodes: []string{"w1", "w2"}}}},
		},
		"an eviction under ours":          {script: begun().lease(controllers, "slipway", 900).evict(agent, "a", "1").end("drain")},
		"somebody else's eviction":        {script: begun().lease(user, "upgrader", 60).evict(user, "a", "1").end("drain")},
		"theirs is taken when it expired": {script: (&script{}).lease(user, "upgrader", 1).later(5).lease(controllers, "slipway", 900).cordon(agent)},
	} {
		t.Run(name, tc.check)
	}
}

// free has nobody hold the lease of w1.
func (s *script) free(who string) *script { return s.lease(who, "", 1) }

// off has a node not take pods, or take them again, by the word of somebody.
func (s *script) off(who string, is bool) *script {
	return s.add(who, "patch", "nodes", "w1", "{}", fmt.Sprintf(`{"kind":"Node","metadata":{"name":"w1"},"spec":{"unschedulable":%t}}`, is))
}

// TestCheckOfHolders has Slipway and a tool share a node. Who of them works on it must have
// its lease.
func TestCheckOfHolders(t *testing.T) {
	const tool = "fwup"
	all := Options{Leases: true, Tools: []string{tool}}
	ours := func() *script { return (&script{}).lease(controllers, "slipway", 900) }
	theirs := func() *script { return (&script{}).lease(tool, tool, 60) }
	const none, noneOfTheirs = "a node of which Slipway has no lease", `works on a node of which "fwup" has no lease`
	for name, tc := range map[string]outcome{
		"one after the other": {
			script: ours().off(agent, true).off(agent, false).free(controllers).lease(tool, tool, 60).off(tool, true).off(tool, false).free(tool).
				lease(controllers, "slipway", 900).off(agent, true).off(agent, false).free(controllers),
		},
		"a cordon without a lease": {script: (&script{}).off(agent, true).lease(controllers, "slipway", 900).off(agent, false), want: []string{"cordons " + none}},
		"a cordon under a lease that has expired": {
			script: (&script{}).lease(controllers, "slipway", 1).later(2).off(agent, true).lease(controllers, "slipway", 900).off(agent, false),
			want:   []string{"cordons " + none},
		},
		"a return without a lease": {script: ours().off(agent, true).free(controllers).off(agent, false), want: []string{"returns " + none}},
		"a return under theirs": {
			script: ours().off(agent, true).free(controllers).lease(user, tool, 60).off(agent, false), want: []string{`returns a node that "fwup" has leased`},
		},
		"an eviction without a lease": {script: begun().evict(agent, "a", "1").end("drain"), want: []string{"evicts from " + none}},
		"theirs, and a write of ours that builds on it is answered first": {
			script: theirs().versionBy(tool, "5", `"unschedulable":true`).versionBy(controllers, "7", "").versionBy(tool, "6", ""),
		},
		"theirs without a lease": {script: (&script{}).off(tool, true), want: []string{noneOfTheirs}},
		"theirs under ours":      {script: ours().off(tool, true), want: []string{noneOfTheirs}},
		"theirs under that of a third": {
			script: (&script{}).lease(user, "upgrader", 60).off(tool, true), want: []string{noneOfTheirs},
		},
		"theirs, as whom somebody acts":  {script: (&script{}).off(user, true).as(tool), want: []string{noneOfTheirs}},
		"theirs after it was given back": {script: theirs().free(tool).off(tool, true), want: []string{noneOfTheirs}},
		"theirs under their own":         {script: theirs().off(tool, true).off(tool, false)},
		"ours is taken":                  {script: ours().lease(tool, tool, 60), want: []string{`takes the lease of "slipway"`}},
		"that of a third is taken":       {script: (&script{}).lease(user, "upgrader", 60).lease(tool, tool, 60), want: []string{`takes the lease of "upgrader"`}},
		"their own is renewed":           {script: theirs().lease(tool, tool, 60)},
		"ours has expired": {
			script: (&script{}).lease(controllers, "slipway", 1).later(5).lease(tool, tool, 60),
		},
		"theirs of a node that is out": {
			script: ours().off(agent, true).free(controllers).lease(tool, tool, 60).free(tool).lease(controllers, "slipway", 900).off(agent, false),
			want:   []string{"takes the lease of a node that Slipway has out"},
		},
	} {
		tc.options = all
		t.Run(name, tc.check)
	}
	t.Run("a Job without a lease", func(t *testing.T) {
		outcome{
			script: fleet().maintain("m", `"stage":"Drain","rollout":{}`).work("j", "a1", "m").collected("j"), options: all,
			want: []string{"begins a Job on " + none, "work on node a1, which maintenance m has not begun"},
		}.check(t)
	})
}
