// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/test/harness"
)

// Which drivers are registered stands on the Node; it follows one that comes and goes.
func TestTheNodeSaysWhichDriversAreRegistered(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "registered")
	node.Agent("")
	says := func(what string) {
		t.Helper()
		node.Await("says that "+what+" is registered", func(n *corev1.Node) bool { return n.Annotations["slipway.dev/drivers"] == what })
	}
	says("drain.slm.k8s.io")
	firmware := newStandIn(t, node, "firmware.example.com")
	says("drain.slm.k8s.io,firmware.example.com")
	firmware.Leave()
	says("drain.slm.k8s.io")
}
