// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// ground is a cluster with what is optional for shutdowns.
type ground struct{ *harness.Env }

func withHosts(t *testing.T, env *harness.Env) ground {
	t.Helper()
	env.Hosts(t)
	return ground{env}
}
