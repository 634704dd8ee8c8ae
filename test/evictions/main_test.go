// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"context"
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// place is a way in which a cluster serves EvictionRequests.
type place struct {
	name    string
	builtin bool
}

func (p place) options() harness.Options {
	if !p.builtin {
		return harness.Options{}
	}
	return harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
		"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
	}}
}

// ground is a cluster, with the controller at work on it.
type ground struct {
	place
	env     *harness.Env
	clients kubernetes.Interface
	// left receives a value for each decision to leave an Eviction to another controller; nil: none counts them.
	left chan struct{}
}

// TestEvictions runs all tests on a cluster of either kind: with one controller, with a
// second one beside it, and with one that is killed.
func TestEvictions(t *testing.T) {
	for _, p := range []place{{"built in", true}, {"CRDs", false}} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, p)
			seen := g.watch(t)
			stop := g.control(t, clock.RealClock{})
			t.Run("one controller", g.runCases)
			t.Run("it all is seen", func(t *testing.T) { seen.check(t, hasNoClock) })
			stopSecond := g.control(t, clock.RealClock{})
			t.Run("two controllers", func(t *testing.T) {
				g.runCases(t)
				t.Run("no work is done twice", g.noWorkIsDoneTwice)
			})
			stop()
			stopSecond()
			t.Run("a controller that is killed", g.killed)
		})
	}
}

func (g *ground) runCases(t *testing.T) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(g.scene(t))
		})
	}
}

// TestTime runs the tests in which hours pass. Only a server without a clock of its own in
// its rules can have them.
func TestTime(t *testing.T) {
	t.Parallel()
	g := newGround(t, place{"CRDs", false})
	seen := g.watch(t)
	now := testingclock.NewFakeClock(time.Now())
	g.control(t, now)
	for name, test := range timed {
		t.Run(name, func(t *testing.T) { test(g.scene(t), now) })
	}
	t.Run("it all is seen", func(t *testing.T) { seen.check(t, takesTime) })
}

// TestAForgedFieldManagerStopsNoEviction has another client write as Kubernetes' own controller, which writes no Evictions of a CRD.
// If the API server serves Evictions itself, such a write counts (TestHowLongAnEvictionIsLeftToKubernetesOwnController): that server
// also rejects most of these writes.
func TestAForgedFieldManagerStopsNoEviction(t *testing.T) {
	t.Parallel()
	g := newGround(t, place{"CRDs", false})
	g.left = make(chan struct{}, 100)
	g.control(t, clock.RealClock{})
	s := g.scene(t)
	s.ask("a", s.pod("p"))
	e := s.awaitActive("pod-1-p", evictionrequest.Evictor)
	e.Status.TargetResponders[0].State = evictionv1alpha1.ResponderStateInterrupted
	_, err := g.clients.LifecycleV1alpha1().Evictions(e.Namespace).
		UpdateStatus(t.Context(), e, metav1.UpdateOptions{FieldManager: evictionrequest.KubernetesControllers[1]})
	s.must(err)
	s.awaitActive("pod-2-p", evictionrequest.Evictor)
	if len(g.left) > 0 {
		t.Error("the controller has left an Eviction to another controller")
	}
}

func newGround(t *testing.T, p place) *ground {
	t.Helper()
	env := harness.Own(t, p.options())
	env.KeepPromises(t)
	if !p.builtin {
		if err := env.InstallEvictions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []string{"rbac", "admission"} {
		env.Kubectl(t, "apply", "--server-side", "-f", harness.File(t, "config", of, "evictions"))
	}
	g := &ground{place: p, env: env}
	clients, err := kubernetes.NewForConfig(g.config())
	if err != nil {
		t.Fatal(err)
	}
	g.clients = clients
	return g
}

// config is the administrator's.
func (g *ground) config() *rest.Config {
	config := rest.CopyConfig(g.env.Admin)
	config.ContentType, config.QPS, config.Burst = "application/json", 500, 1000
	return config
}

// asController are credentials of the controller, with its rights and no more.
func (g *ground) asController(t *testing.T) *rest.Config {
	t.Helper()
	config, err := g.env.ControllerConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 1000
	return config
}

// control has a controller at work until stop, or the end of the test.
func (g *ground) control(t *testing.T, c clock.WithTicker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := g.start(ctx, t, g.asController(t), c)
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

func (g *ground) start(ctx context.Context, t *testing.T, config *rest.Config, c clock.WithTicker) <-chan struct{} {
	t.Helper()
	controller, err := evictioncontroller.New(config, c, g.countLeft)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := controller.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return ended
}

func (g *ground) countLeft() {
	select {
	case g.left <- struct{}{}:
	default: // none counts, or enough are counted
	}
}
