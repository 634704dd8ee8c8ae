// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
)

const controllers = "system:serviceaccount:slipway-system:slipway-controller"

// lease writes the lease of node w1, renewed now, in the seconds that a script has.
func (s *script) lease(who, holder string, seconds int) *script {
	return s.add(who, "update", "leases", leasesOfNodes+"/w1", "", fmt.Sprintf(
		`{"kind":"Lease","metadata":{"name":"w1","namespace":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d,"renewTime":"2026-01-02T03:04:%02d.000000Z"}}`,
		leasesOfNodes, holder, seconds, len(s.requests)))
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
		"a cordon under our lease":        {script: (&script{}).lease(controllers, "slipway", 900).cordon(agent)},
		"a cordon without any":            {script: (&script{}).cordon(agent)},
		"a cordon under theirs":           {script: (&script{}).lease(user, "upgrader", 60).cordon(agent), want: []string{theirs}},
		"somebody else's cordon":          {script: (&script{}).lease(user, "upgrader", 60).cordon(user)},
		"theirs is given back":            {script: (&script{}).lease(user, "upgrader", 60).lease(user, "", 1).cordon(agent)},
		"theirs is deleted":               {script: (&script{}).lease(user, "upgrader", 60).add(user, "delete", "leases", leasesOfNodes+"/w1", "", "{}").cordon(agent)},
		"theirs has ended, 2 s ago":       {script: (&script{}).lease(user, "upgrader", 1).later(2).cordon(agent), want: []string{theirs}},
		"theirs has expired":              {script: (&script{}).lease(user, "upgrader", 1).later(5).cordon(agent)},
		"theirs was renewed":              {script: (&script{}).lease(user, "upgrader", 1).later(3).lease(user, "upgrader", 1).later(2).cordon(agent), want: []string{theirs}},
		"a person's never expires":        {script: (&script{}).lease(user, "kubeadmin-ada", 1).later(9).cordon(agent), want: []string{`"kubeadmin-ada" has leased`}},
		"theirs is taken from them":       {script: (&script{}).lease(user, "upgrader", 60).lease(controllers, "slipway", 900), want: []string{taken}},
		"theirs is given back by us":      {script: (&script{}).lease(user, "upgrader", 60).lease(controllers, "", 1), want: []string{taken}},
		"theirs is taken when it expired": {script: (&script{}).lease(user, "upgrader", 1).later(5).lease(controllers, "slipway", 900).cordon(agent)},
	} {
		t.Run(name, tc.check)
	}
}
