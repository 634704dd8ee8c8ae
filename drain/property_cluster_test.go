// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/drain"
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
	u.restart = u.restartDrain
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

// over reports whether all nodes are drained.
func (u *turmoil) over() bool {
	return !slices.ContainsFunc(u.draining, func(node string) bool {
		status, _ := u.walks[node].status()
		return !status.Reached
	})
}

// judge looks at how our evictions were answered. Whether each that was accepted was one that the budget allowed at that
// moment, auditcheck says at the end of every test.
func (u *turmoil) judge(ended time.Time) {
	u.t.Helper()
	answers := map[int]int{}
	for _, r := range u.evictions(u.t, u.namespace) {
		if who := r.ImpersonatedUser.Username; who == bothNodes || strings.HasPrefix(who, "system:node:") {
			answers[r.ResponseStatus.Code]++
		}
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
