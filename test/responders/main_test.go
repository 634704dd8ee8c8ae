// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// everywhere are the cases for a server of either kind.
var everywhere = map[string]func(*testing.T, *server){
	"a run completes its turn, and the next responder has its own":         aRunCompletesItsTurn,
	"a turn that is over ends the run":                                     aTurnThatIsOver,
	"somebody who writes all the time is neither hindered nor overwritten": aStormOfWrites,
	"a shutdown does not complete, and the next process goes on":           aShutdown,
}

// once are the cases in which it does not matter who serves the API, or only the server's
// own validation can tell.
var once = map[string]func(*testing.T, *server){
	"what a run reports is in the Eviction":              whatARunReports,
	"a failure is said":                                  aFailureIsSaid,
	"a turn comes when the one before is over":           aTurnComes,
	"a requester can be a responder":                     aRequesterCanBeAResponder,
	"two Evictions at the same time":                     twoAtTheSameTime,
	"a pod that took the name of the target is not read": anotherPodIsNotRead,
	"a responder outlives kill -9":                       aKilledResponder,
	"a clock that is off is said, and the run goes on":   aClockThatIsOff,
	"the how-to can be followed":                         theHowTo,
	"rights that are missing are said":                   missingRights,
}

// TestResponders runs the cases side by side. Whatever responders have begun ends with
// them.
func TestResponders(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("served", func(t *testing.T) {
		t.Run("built in", func(t *testing.T) {
			t.Parallel()
			s := newServer(t, true)
			s.control(t, clock.RealClock{})
			t.Run("cases", func(t *testing.T) {
				s.run(t, everywhere)
				s.run(t, once)
			})
		})
		t.Run("as CRDs", onCRDs)
	})
	if err := os.RemoveAll(binaries.dir); err != nil {
		t.Error(err)
	}
	// Connections stay for who comes next.
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// onCRDs runs the cases where the server's rules have no clock: hours can pass there.
func onCRDs(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	stop := s.control(t, clock.RealClock{})
	t.Run("cases", func(t *testing.T) { s.run(t, everywhere) })
	aTurnThatIsInterrupted(t, s, func() {
		stop()
		s.control(t, testingclock.NewFakeClock(time.Now().Add(21*time.Minute)))
	})
}

// server is a cluster that serves the API.
type server struct {
	*harness.Env

	builtin bool
	admin   *kubernetes.Clientset
}

func newServer(t *testing.T, builtin bool) *server {
	t.Helper()
	options := harness.Options{Bare: true}
	if builtin {
		options.LauncherArgs = []string{"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", "lifecycle.k8s.io/v1alpha1=true"}
	}
	s := &server{Env: harness.Own(t, options), builtin: builtin}
	if !builtin {
		if err := s.InstallEvictions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if s.admin, err = kubernetes.NewForConfig(s.config()); err != nil {
		t.Fatal(err)
	}
	s.Kubectl(t, "apply", "-f", harness.File(t, "examples", "backup-responder", "rbac.yaml"))
	return s
}

// config is the administrator's.
func (s *server) config() *rest.Config {
	config := rest.CopyConfig(s.Admin)
	config.ContentType = "application/json" // CRDs know nothing else
	return config
}

// run runs cases side by side.
func (s *server) run(t *testing.T, cases map[string]func(*testing.T, *server)) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// control has an evictionrequest-controller at work until stop, or the end of the test.
func (s *server) control(t *testing.T, c clock.WithTicker) (stop func()) {
	t.Helper()
	controller, err := evictioncontroller.New(s.config(), c, func() {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := controller.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}
