// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestNamesOfNodesAreCompleted(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-completed")
	begun := strings.TrimSuffix(node.Name, node.Name[len(node.Name)-1:])
	for _, command := range []string{"drain", "uncordon", "cancel", "status", "explain", "plan", "drivers"} {
		out, _ := run(t, env, 0, "__complete", command, begun)
		wantTexts(t, out, node.Name+"\n")
		if out, _ = run(t, env, 0, "__complete", command, node.Name, begun); strings.Contains(out, node.Name+"\n") {
			t.Errorf("%s suggests a node that is named already:\n%s", command, out)
		}
	}
}
