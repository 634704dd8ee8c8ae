// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/chaos/link"
	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// group is that of the nodes.
const group = "chaos"

// stage is a cluster with the processes on it.
type stage struct {
	t     *testing.T
	env   *harness.Env
	plan  plan.Plan
	nodes []string
	count *count
	// another is the client of a second person.
	another client.Client

	entered, central bool
	members          map[int]*member // by their numbers in the plan
	plane            sync.Mutex      // whoever stops something of the control plane holds it
	names            atomic.Int32
	jumps            atomic.Int32 // of clocks, that were seen
	asked            int          // requests of the members that have ended
	mishaps          map[string]int
}

// newStage starts a cluster that serves EvictionRequests itself, with its pods on it.
func newStage(t *testing.T, p plan.Plan) *stage {
	t.Helper()
	env := harness.Own(t, harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
		"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
		"--controller-manager-arg=kube-api-qps=500", "--controller-manager-arg=kube-api-burst=1000",
		"--scheduler-arg=kube-api-qps=500", "--scheduler-arg=kube-api-burst=1000",
	}})
	s := &stage{t: t, env: env, plan: p, members: map[int]*member{}, mishaps: map[string]int{}}
	if err := env.InstallEvictionRights(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.learnEvictions()
	env.Guards(t)
	s.nodes = env.Fleet(t, group, make([]map[string]string, plan.Nodes))
	budgets := []auditcheck.AvailabilityBudget{s.availability("all", s.nodes, allAway), s.availability("some", s.nodes[:fewer], fewerAway)}
	env.KeepAllPromises(t, func() auditcheck.Options {
		return auditcheck.Options{ClocksJump: true, Restarts: true, Budgets: budgets}
	})
	s.publish()
	s.populate()
	s.count = s.watch()
	return s
}

// Two NodeAvailabilityBudgets overlap: of all nodes allAway may be out, which is less than a round takes out, and of the
// first of them fewerAway.
const (
	allAway   = plan.Out - 1
	fewer     = plan.Nodes / 2
	fewerAway = 1
)

// availability creates a NodeAvailabilityBudget for nodes.
func (s *stage) availability(name string, nodes []string, away int) auditcheck.AvailabilityBudget {
	s.t.Helper()
	b := &slipwayv1alpha1.NodeAvailabilityBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: corev1.LabelHostname, Operator: metav1.LabelSelectorOpIn, Values: nodes}}
	b.Spec.MaxUnavailable = new(intstr.FromInt(away))
	if err := s.env.Client.Create(s.t.Context(), b); err != nil {
		s.t.Fatal(err)
	}
	return auditcheck.AvailabilityBudget{Nodes: nodes, MaxUnavailable: away}
}

// learnEvictions has the administrator know EvictionRequests, and ask as fast as it likes.
func (s *stage) learnEvictions() {
	s.t.Helper()
	config := rest.CopyConfig(s.env.Admin)
	config.ContentType, config.QPS, config.Burst = "application/json", 500, 1000
	scheme := s.env.Client.Scheme()
	if err := evictionv1alpha1.AddToScheme(scheme); err != nil {
		s.t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		s.t.Fatal(err)
	}
	s.env.Client = c
	config.Impersonate = rest.ImpersonationConfig{UserName: "another", Groups: []string{"system:masters"}}
	if s.another, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		s.t.Fatal(err)
	}
}

// enter starts the processes of a mode, if they are not there.
func (s *stage) enter(central bool) {
	s.t.Helper()
	if s.entered && s.central == central {
		return
	}
	s.leave()
	s.entered, s.central = true, central
	if central {
		s.env.WithoutAgents(s.t)
	} else {
		for i := range s.nodes {
			s.members[i] = s.agent(i)
		}
	}
	for i := plan.Controllers; i < plan.Controllers+2; i++ {
		s.members[i] = s.controller(i)
	}
}

// leave looks for leaks in the processes of a mode, and ends them.
func (s *stage) leave() {
	s.t.Helper()
	if s.entered && !s.t.Run("goroutines", s.compareGoroutines) {
		s.t.FailNow()
	}
	for i, m := range s.members {
		m.stop()
		seen, asked := m.link.Mishaps()
		s.asked += asked
		for what, n := range seen {
			s.mishaps[what] += n
		}
		delete(s.members, i)
	}
}

// check wants that what was to go wrong by itself did, in a run that is long enough for all
// of it.
func (s *stage) check() {
	s.t.Helper()
	all := 0
	for _, n := range s.mishaps {
		all += n
	}
	s.t.Logf("%d of %d requests went wrong: %v; %d clocks were seen to jump", all, s.asked, s.mishaps, s.jumps.Load())
	if s.plan.Drains < drains {
		return
	}
	for _, kind := range link.Kinds {
		if s.mishaps[kind] == 0 {
			s.t.Errorf("no request went wrong this way: %s", kind)
		}
	}
	if share := 100 * all / max(s.asked, 1); share < failing-2 || share > failing+2 {
		s.t.Errorf("%d %% of the requests went wrong, want %d %%", share, failing)
	}
	if s.jumps.Load() == 0 && runtime.GOOS+runtime.GOARCH == "linuxamd64" {
		s.t.Error("no clock was seen to jump")
	}
}

// play plays a round: its jobs side by side, and its faults when their moments come.
func (s *stage) play(t *testing.T, round plan.Round) {
	t.Helper()
	s.refresh(t)
	s.count.begin(t)
	var faults sync.WaitGroup
	for _, f := range round.Faults {
		faults.Go(func() { s.strike(t, f) })
	}
	t.Run("jobs", func(t *testing.T) {
		for _, job := range round.Jobs {
			t.Run(job.String(), func(t *testing.T) {
				t.Parallel()
				s.do(t, round, job)
			})
		}
	})
	if t.Failed() {
		s.count.giveUp()
	}
	faults.Wait()
}
