// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/test/harness"
)

// remember writes onto the Node what an agent before has remembered of the API's home.
func remember(t *testing.T, env *harness.Env, node *harness.Node, memory string) {
	t.Helper()
	env.Kubectl(t, "annotate", "--overwrite", "node", node.Name, nodestate.HomeAnnotation+"="+memory)
}

// An agent that ran before has seen the API move here. Events from before that are not
// acted on, weeks later: not when they are Pending, nor when they are Claimed.
func TestEventsFromBeforeTheAPIMovedAreEnded(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "moved")
	pod := node.Pod("moved", quick())
	event := node.Event(node.EventName("old"), harness.Drain, harness.Kept)
	moved := event.CreationTimestamp.Add(time.Second).UTC().Format(time.RFC3339)
	remember(t, env, node, fmt.Sprintf(`{"group":"lifecycle.k8s.io","since":%q}`, moved))
	node.Agent("")

	ended := env.Outcome(t, event.Name)
	if c := harness.Finished(ended); ended.Status.ClaimStatus != lifecyclev1alpha1.Failed || c.Reason != "HomeChanged" ||
		!strings.Contains(c.Message, "older than the move of the API") || !strings.Contains(c.Message, "create it again") {
		t.Errorf("the event ended as %s, %+v; want Failed, HomeChanged", ended.Status.ClaimStatus, c)
	}
	env.Untouched(t, pod)
	uncordoned(t, node)
}

func TestAClaimedEventFromBeforeTheAPIMovedIsEnded(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "moved-claimed")
	node.Expect(harness.CordonLeft, drainedAgain)
	agent := node.Agent("")
	half := halfDrain(t, env, node)
	agent.Kill()
	moved := half.event.CreationTimestamp.Add(time.Second).UTC().Format(time.RFC3339)
	remember(t, env, node, fmt.Sprintf(`{"group":"lifecycle.k8s.io","since":%q}`, moved))
	since := time.Now()
	node.Agent("")

	ended := env.Outcome(t, half.event.Name)
	if c := harness.Finished(ended); ended.Status.ClaimStatus != lifecyclev1alpha1.Failed || c.Reason != "HomeChanged" {
		t.Errorf("the event ended as %s, %+v; want Failed, HomeChanged", ended.Status.ClaimStatus, c)
	}
	half.evictsNoMore(t, since)
}

// Each agent remembers where it found the API, for the next one.
func TestAnAgentRemembersTheHomeOfTheAPI(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for name, tc := range map[string]struct {
		before string
		moved  bool
	}{
		"the first time":                       {"", false},
		"where it was":                         {`{"group":"lifecycle.k8s.io"}`, false},
		"after a move":                         {`{"group":"slm.slipway.dev"}`, true},
		"after something that it can not read": {"slm", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := env.Node(t, "home")
			if tc.before != "" {
				remember(t, env, node, tc.before)
			}
			node.Agent("")
			node.Await("remembers the home", func(n *corev1.Node) bool {
				text := n.Annotations[nodestate.HomeAnnotation]
				return strings.Contains(text, `"group":"lifecycle.k8s.io"`) && strings.Contains(text, `"since":"2`) == tc.moved
			})
		})
	}
}
