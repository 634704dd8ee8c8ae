// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// variants are the charts that are not in config, by their values.
var variants = map[string]string{
	"as it comes":                      `{}`,
	"central":                          `{"mode": "central"}`,
	"reduced":                          `{"reduced": true}`,
	"with EvictionRequests":            `{"evictionRequests": {"enabled": true}}`,
	"with node leases":                 `{"nodeLeases": {"enabled": true, "refuseOthers": true}}`,
	"with slipway-host":                `{"host": {"enabled": true, "runAsUser": 0}}`,
	"with static pods":                 `{"host": {"enabled": true, "runAsUser": 0, "staticPods": {"enabled": true, "controlPlane": true}}}`,
	"without guards":                   `{"guards": {"enabled": false}}`,
	"with drivers of others":           `{"thirdPartyDrivers": {"enabled": true}}`,
	"with a network policy":            `{"networkPolicy": {"enabled": true}, "metrics": {"enabled": true}}`,
	"with a ServiceMonitor":            `{"metrics": {"enabled": true}, "serviceMonitor": {"enabled": true, "labels": {"release": "p"}}}`,
	"in the API group slm.slipway.dev": `{"api": {"group": "slm.slipway.dev"}}`,
	"with kept CRDs, without a budget": `{"crds": {"keep": true}, "podDisruptionBudget": {"enabled": false}}`,
	"with values of one's own": `{"image": {"repository": "example.com/s", "tag": "v2"}, "imagePullSecrets": [{"name": "s"}],
		"agent": {"extraArgs": ["-v=4"], "finishedEventTTL": "1h", "maxUnavailable": 3}, "controller": {"replicas": 1, "extraArgs": ["-v=4"]}}`,
}

// stubs are kinds that others bring: the API server must know them, and no more.
const stubs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, plural: servicemonitors}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func TestTheAPIServerAcceptsTheChartWithAnyValues(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.Kubectl(t, "apply", "-f", harness.File(t, "config", "crd", "slm.slipway.dev"))
	env.KubectlWith(t, stubs, "apply", "-f", "-")
	// A dry run creates no namespace, and takes nothing for one that is not there.
	env.Kubectl(t, "apply", "-f", harness.File(t, "config", "rbac", "leases", "00-namespace.yaml"))
	env.Kubectl(t, "wait", "--for=condition=Established", "crds", "--all")
	chart := harness.Renderer(t)
	for name, values := range variants {
		t.Run(name, func(t *testing.T) {
			env.KubectlWith(t, harness.Rendered(t, chart, values), "apply", "--dry-run=server", "--validate=strict", "-f", "-")
		})
	}
}
