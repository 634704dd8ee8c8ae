// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestADrainMovesASingleReplica has a node drained whose only pod may never be evicted: the
// agent leaves it to responders, the controller asks for it and starts the replacement.
func TestADrainMovesASingleReplica(t *testing.T) {
	g := newGround(t, true)
	g.env.Controller(t, "with surge", "", "--eviction-requests", "--leader-elect=false")
	s := g.scene(t)
	node := g.env.Node(t, s.namespace)
	node.Expect(harness.CordonLeft, "a node that was drained stays cordoned until it is returned, which is not part of this test")
	d := s.deploy(1, startUp, 1)
	old := s.pods.now()[0]
	s.node("b")
	node.Agent("")
	event := node.EventName("drain")
	node.Event(event, harness.Drain, harness.Kept)
	s.pods.awaitGone(old)
	s.pods.awaitKept(1)
	if ended := g.env.Outcome(t, event); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the event is %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	s.neverFewerThan(1)
	s.untouched(d)
	if sent := node.Evictions(); len(sent) > 0 {
		t.Errorf("the agent has sent %d evictions", len(sent))
	}
}
