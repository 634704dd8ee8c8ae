// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestDrainsAndResponders runs all tests on a cluster of either kind.
func TestDrainsAndResponders(t *testing.T) {
	for name, builtin := range map[string]bool{"built in": true, "CRDs": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, clients := ground(t, builtin)
			for name, test := range cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(newScene(t, env, clients))
				})
			}
		})
	}
}

// ground is a cluster on which Evictions are served.
func ground(t *testing.T, builtin bool) (*harness.Env, kubernetes.Interface) {
	t.Helper()
	options := harness.Options{}
	if builtin {
		options = harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
			"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
		}}
	}
	env := harness.Own(t, options)
	if !builtin {
		if err := env.InstallEvictions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	config := rest.CopyConfig(env.Admin)
	config.ContentType = "application/json"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return env, clients
}
