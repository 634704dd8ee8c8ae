// SPDX-License-Identifier: Apache-2.0

package update

import (
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// What acts on EvictionRequests comes with a flag, stays with it, and goes without it. That
// its kinds are served does not make the API group look like the server's own.
func TestEvictionRequestsComeAndGoWithTheirFlag(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	mayEvict := func() string {
		return strings.TrimSpace(env.Shell(t, `kubectl auth can-i create pods --subresource=eviction -n kube-system \
			--as=system:serviceaccount:slipway-system:slipway-controller || true`))
	}
	ofController := func() string {
		return env.Shell(t, `kubectl get deployment slipway-controller -n slipway-system -o jsonpath='{.spec.template.spec.containers[0].args}'`)
	}

	wantPlugin(t, env, 0, []string{"install", "--yes", "--eviction-requests"}, "Slipway works")
	if got := mayEvict(); got != "yes" {
		t.Errorf("with --eviction-requests, the controller may evict: %s", got)
	}
	if got := ofController(); !strings.Contains(got, "--eviction-requests=true") {
		t.Errorf("the controller's arguments are %s", got)
	}
	env.Kubectl(t, "wait", "--for=condition=Established", "crd/evictionrequests.lifecycle.k8s.io", "crd/evictions.lifecycle.k8s.io")
	wantPlugin(t, env, 0, []string{"install", "--yes", "--eviction-requests"}, "unchanged ")

	wantPlugin(t, env, 0, []string{"install", "--yes"}, "deleting ClusterRoleBinding slipway-controller-evictions", "Slipway works")
	if got := mayEvict(); got != "no" {
		t.Errorf("without --eviction-requests, the controller may evict: %s", got)
	}
	if got := ofController(); strings.Contains(got, "eviction") {
		t.Errorf("the controller's arguments are %s", got)
	}
	wantPlugin(t, env, 0, []string{"uninstall", "--yes"}, "evictionrequests.lifecycle.k8s.io")
	if left := env.Shell(t, "kubectl get crds -o name"); strings.Contains(left, "lifecycle.k8s.io") {
		t.Errorf("left are %s", left)
	}

	follow(t, env, "EvictionRequests", "")
	if got := ofController(); !strings.Contains(got, "--eviction-requests=true") {
		t.Errorf("by the manifests, the controller's arguments are %s", got)
	}
}
