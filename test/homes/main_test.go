// SPDX-License-Identifier: Apache-2.0

package homes

import (
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// The launcher's flags for a server that serves lifecycle.k8s.io itself, with
// EvictionRequests in it, and for one that does so no more.
var (
	builtinGroup   = builtin("true")
	noBuiltinGroup = builtin("false")
)

func builtin(on string) []string {
	return []string{
		"--feature-gates", "EvictionRequestAPI=" + on,
		"--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=" + on,
	}
}
