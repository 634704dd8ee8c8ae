// SPDX-License-Identifier: Apache-2.0

package update

import (
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// Who has had --reduced, and has a server that needs it no more, is rid of its rights.
func TestInstallingWithoutReducedTakesTheWeakRightsAway(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	mayEvict := func() string {
		return strings.TrimSpace(env.Shell(t, `kubectl auth can-i create pods --subresource=eviction -n kube-system \
			--as=system:serviceaccount:slipway-system:slipway-node-agent || true`))
	}

	wantPlugin(t, env, 0, []string{"install", "--reduced", "--yes"}, "Slipway works")
	wantPlugin(t, env, 0, []string{"version"}, "with the reduced variant's permissions")
	if got := mayEvict(); got != "yes" {
		t.Fatalf("with --reduced, an agent may evict: %s", got)
	}
	wantPlugin(t, env, 0, []string{"install", "--dry-run=server"}, "delete      ClusterRoleBinding                 slipway-node-agent-reduced")
	wantPlugin(t, env, 0, []string{"install", "--yes"}, "deleting ClusterRoleBinding slipway-node-agent-reduced", "Slipway works")
	if got := mayEvict(); got != "no" {
		t.Errorf("without --reduced, an agent may evict: %s", got)
	}
	wantPlugin(t, env, 0, []string{"install", "--yes"}, "unchanged   93 objects")
}
