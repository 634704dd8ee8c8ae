// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// disturbances is how many there are at most; the last drain mostly ends before.
const disturbances = 150

// bothNodes is who drains two nodes.
const bothNodes = "drainer-of-two"

// TestNoEvictionBreaksABudgetWhateverTheTiming drains three nodes at once, two of them by one Drainer, while the pods and
// budgets on them change all the time. Then the audit log of the server says whether each eviction that was accepted was
// one that the budget allowed at that moment.
func TestNoEvictionBreaksABudgetWhateverTheTiming(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	s := newScene(t, 5)
	u := &turmoil{
		scene: s, random: rand.New(rand.NewPCG(seed, 0)), apps: []string{"a", "b", "c", "d"}, draining: s.nodes[:3],
		drainers: map[string]*drain.Drainer{}, walks: map[string]*walk{},
	}
	u.populate(9)
	u.begin()
	done := 0
	for ; done < disturbances && !u.over(); done++ {
		u.pass(u.random.IntN(12))
		u.disturb()
	}
	u.relax()
	for _, node := range u.draining {
		s.must(u.walks[node].end())
	}
	u.judge(time.Now())
	t.Logf("%d disturbances: %v", done, u.done)
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("SLIPWAY_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the same disturbances again: SLIPWAY_SEED=%d", seed)
	return seed
}

// begin drains the nodes: two by one Drainer, one by a Drainer of its own, as another process would.
func (u *turmoil) begin() {
	u.t.Helper()
	u.cordon(u.draining...)
	// A node may not evict from another one, so this is a stronger identity.
	both := u.drainerWith(u.as(u.t, rest.ImpersonationConfig{
		UserName: bothNodes, Groups: []string{"system:masters", "system:authenticated"},
	}))
	u.began = time.Now()
	for i, node := range u.draining {
		u.drainers[node] = both
		if i == 2 {
			u.drainers[node] = u.drainer(node)
		}
		u.walks[node] = u.drain(u.drainers[node], node)
	}
}

// over tells whether all nodes are drained.
func (u *turmoil) over() bool {
	return !slices.ContainsFunc(u.draining, func(node string) bool {
		status, _ := u.walks[node].status()
		return !status.Reached
	})
}

// ours tells the requests of Drainers from those of the test.
func ours(user string) bool { return user == bothNodes || strings.HasPrefix(user, "system:node:") }

// judge lets auditcheck replay what happened in the namespace.
func (u *turmoil) judge(ended time.Time) {
	u.t.Helper()
	all, err := auditlog.ReadFile(u.auditLog)
	u.must(err)
	var requests []auditlog.Request
	answers := map[int]int{}
	for _, r := range all {
		if r.Namespace != u.namespace {
			continue
		}
		if ours(r.Impersonated) {
			r.User = r.Impersonated
			if r.Subresource == "eviction" {
				answers[r.Code]++
			}
		}
		requests = append(requests, r)
	}
	for _, node := range u.draining {
		requests = append(requests, claim(node, "Claimed", u.began), claim(node, "Succeeded", ended))
	}
	for _, violation := range auditcheck.Check(requests, auditcheck.Options{Ours: ours}) {
		u.t.Errorf("promise broken: %s", violation)
	}
	u.t.Logf("our evictions by answer: %v, in %s", answers, ended.Sub(u.began).Round(time.Millisecond))
	if answers[201] < 10 {
		u.t.Errorf("only %d evictions were accepted, so this has tested little", answers[201])
	}
	// Somebody else may be faster, or the budget may change while an eviction is on its way. Mostly, nothing is sent that
	// the server would refuse.
	if answers[429] > answers[201] {
		u.t.Errorf("%d evictions were refused, and %d accepted", answers[429], answers[201])
	}
}

// claim is what a LifecycleEvent would have left in the log, of which there are none here: who drains tells the check when.
func claim(node, phase string, at time.Time) auditlog.Request {
	answer := fmt.Sprintf(`{"kind":"LifecycleEvent","metadata":{"name":%q,"uid":%q},"spec":{"bindingNode":%q},"status":{"claimStatus":%q}}`,
		node, node, node, phase)
	return auditlog.Request{
		Began: at, Ended: at, Verb: "update", Code: 200, Resource: "lifecycleevents", Subresource: "status", Name: node,
		Answer: json.RawMessage(answer),
	}
}
