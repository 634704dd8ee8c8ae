// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// options are of a control plane that creates pods as fast as it can, and is patient with
// nodes that nobody simulates.
var options = harness.Options{LauncherArgs: []string{
	"--controller-manager-arg=kube-api-qps=500", "--controller-manager-arg=kube-api-burst=1000",
	"--controller-manager-arg=node-monitor-grace-period=1h",
	"--scheduler-arg=kube-api-qps=500", "--scheduler-arg=kube-api-burst=1000",
}}

// TestMain has most tests share a cluster without agents. Whose turn it is starts a
// controller: one at a time. Those that take longest have a cluster of their own, side by
// side, after the others.
func TestMain(m *testing.M) { harness.MainOn(m, options) }

// start starts a controller that stops at a fault point, if one is given.
func start(t *testing.T, env *harness.Env, faultPoint string, flags ...string) *harness.Process {
	t.Helper()
	return env.Controller(t, "of maintenances", faultPoint, append([]string{"--builtin-drivers=drain", "--leader-elect=false", "--maintenance-jobs"}, flags...)...)
}
