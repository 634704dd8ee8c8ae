// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"context"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	"github.com/slipway-k8s/slipway/internal/eviction/evictor"
	surgeroom "github.com/slipway-k8s/slipway/internal/eviction/surge"
	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// ground is a cluster.
type ground struct {
	env     *harness.Env
	clients kubernetes.Interface // the administrator's
}

// places are the ways in which a cluster serves EvictionRequests.
var places = map[string]bool{"built in": true, "CRDs": false}

func newGround(t *testing.T, builtin bool) *ground {
	t.Helper()
	var options harness.Options
	if builtin {
		options = harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
			"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
		}}
	}
	g := &ground{env: harness.Own(t, options)}
	if !builtin {
		if err := g.env.InstallEvictions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.env.InstallEvictionRights(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.clients = g.as(t, g.env.Admin)
	return g
}

func (g *ground) as(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(unhurried(config))
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func unhurried(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.QPS, config.Burst = "application/json", 500, 1000
	return config
}

// controller has all that the controller's process does about EvictionRequests at work,
// with its rights, until the test ends.
func (g *ground) controller(t *testing.T) {
	t.Helper()
	config, err := g.env.ControllerConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config = unhurried(config)
	s, err := surgecontroller.New(config, clock.RealClock{}, surgecontroller.Blocked)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := evictioncontroller.New(config, clock.RealClock{}, func() {}, evictioncontroller.Responder{EvictionResponder: surgeroom.Itself(), Applies: s.Applies})
	if err != nil {
		t.Fatal(err)
	}
	last, err := evictor.New(config, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []func(context.Context) error{s.Run, requests.Run, last.Run} {
		g.run(t, run)
	}
}

// run runs something until the test ends.
func (g *ground) run(t *testing.T, what func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := what(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}

// TestSurge runs all tests on a cluster of either kind.
func TestSurge(t *testing.T) {
	for place, builtin := range places {
		t.Run(place, func(t *testing.T) {
			g := newGround(t, builtin)
			g.controller(t)
			t.Run("all", func(t *testing.T) {
				for name, test := range cases {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						test(g.scene(t))
					})
				}
			})
		})
	}
}
