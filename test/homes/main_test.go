// SPDX-License-Identifier: Apache-2.0

package homes

import (
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// builtinGroup are the launcher's flags for a server that serves lifecycle.k8s.io
// itself, with EvictionRequests in it.
var builtinGroup = []string{
	"--feature-gates", "EvictionRequestAPI=true",
	"--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
}
