// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"errors"
	"sync"
	"testing"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	"github.com/slipway-k8s/slipway/internal/eviction/requester"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// place is a way in which a cluster serves EvictionRequests; LifecycleEvents are at home
// in the other group each time.
type place struct {
	name    string
	builtin bool
}

var places = []place{{"built in", true}, {"CRDs", false}}

func (p place) options() harness.Options {
	if !p.builtin {
		return harness.Options{}
	}
	return harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
		"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
	}}
}

// TestRequests runs all tests on a cluster of either kind.
func TestRequests(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, p)
			g.runEvictions(t)
			g.runRequester(t)
			for name, test := range cases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(g.scene(t))
				})
			}
		})
	}
}

// ground is a cluster.
type ground struct {
	env *harness.Env
}

func newGround(t *testing.T, p place) *ground {
	t.Helper()
	env := harness.Own(t, p.options())
	if !p.builtin {
		if err := env.InstallEvictions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(evictionv1alpha1.AddToScheme(env.Client.Scheme()), rbacv1.AddToScheme(env.Client.Scheme())); err != nil {
		t.Fatal(err)
	}
	g := &ground{env: env}
	c, err := client.NewWithWatch(g.config(), client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	env.Client = c // which knows EvictionRequests
	return g
}

// config is the administrator's, in JSON: CRDs know nothing else.
func (g *ground) config() *rest.Config {
	config := rest.CopyConfig(g.env.Admin)
	config.ContentType, config.QPS, config.Burst = "application/json", 500, 1000
	return config
}

// runEvictions has an evictionrequest-controller at work until the test ends.
func (g *ground) runEvictions(t *testing.T) {
	t.Helper()
	controller, err := evictioncontroller.New(g.config(), clock.RealClock{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	untilTheEnd(t, controller.Run)
}

// runRequester has a requester at work until the test ends.
func (g *ground) runRequester(t *testing.T) {
	t.Helper()
	in := apigroup.In(g.env.Group)
	events, err := cache.New(g.config(), cache.Options{Scheme: in.Scheme(), Mapper: in.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := requester.New(t.Context(), requester.Options{
		Self: g.config(), Events: events, Live: g.env.Client, Clock: clock.RealClock{}, Responds: requester.ByPod,
	})
	if err != nil {
		t.Fatal(err)
	}
	untilTheEnd(t, events.Start)
	untilTheEnd(t, r.Run)
}

func untilTheEnd(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}
