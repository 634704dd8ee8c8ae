// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// nodesOver are the Nodes of a client, as others want them.
type nodesOver struct {
	corev1client.NodeInterface // the rest, which nobody calls
	api                        client.Client
}

func (n nodesOver) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	node := &corev1.Node{}
	return node, n.api.Get(ctx, client.ObjectKey{Name: name}, node)
}

func (n nodesOver) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, _ metav1.PatchOptions, sub ...string) (*corev1.Node, error) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if len(sub) > 0 {
		return node, n.api.Status().Patch(ctx, node, client.RawPatch(kind, patch))
	}
	return node, n.api.Patch(ctx, node, client.RawPatch(kind, patch))
}

// newFleet is a fleet on an API with the given objects, and a driver that all nodes
// share. It runs until the test ends.
func newFleet(t *testing.T, driver driverkit.Driver, objects ...client.Object) (*Fleet, workqueue.TypedRateLimitingInterface[string]) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sw")
	if err != nil {
		t.Fatal(err)
	}
	source, err := telemetry.New(t.Context(), telemetry.Options{
		Component: telemetry.Controller, APIGroup: lifecyclev1alpha1.GroupSlipway, Events: kubernetesfake.NewClientset().CoreV1(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	api := apiOf(objects...)
	f := NewFleet(Options{
		CentralDrivers: true, Home: apigroup.In(lifecyclev1alpha1.GroupSlipway), Clock: clock.RealClock{}, Observer: source,
		Cached: api, Live: api, Recorder: record.New(api),
		Writer: func(node string) *nodestate.Writer {
			return nodestate.NewWriter(nodesOver{api: api}, node, clock.RealClock{})
		},
	}, filepath.Join(dir, "r"))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.drivers.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		config := driverkit.Config{DriverName: "d", AnyNode: true, DataDir: filepath.Join(dir, "d"), RegistrationDir: filepath.Join(dir, "r")}
		if err := driverkit.Serve(ctx, config, driver); err != nil {
			t.Error(err)
		}
	})
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	if err := f.waker.Source().Start(ctx, queue); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		queue.ShutDown()
		cancel()
		running.Wait()
		f.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		source.Close()
	})
	return f, queue
}

func (f *Fleet) eventsLeft(t *testing.T) int {
	t.Helper()
	var events lifecyclev1alpha1.LifecycleEventList
	if err := f.Cached.List(t.Context(), &events); err != nil {
		t.Fatal(err)
	}
	return len(events.Items)
}

// drive makes passes, as the controller would, until done says so.
func (f *Fleet) drive(t *testing.T, queue workqueue.TypedRateLimitingInterface[string], done func() bool) {
	t.Helper()
	giveUp := time.AfterFunc(time.Minute, queue.ShutDown)
	defer giveUp.Stop()
	for !done() {
		node, shutdown := queue.Get()
		if shutdown {
			t.Fatal("not done within a minute")
		}
		result, err := f.Reconcile(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		queue.Done(node)
		if result.RequeueAfter > 0 {
			queue.AddAfter(node, result.RequeueAfter)
		}
	}
}

// transitionOfD is a transition of the driver, for all nodes, with the mark of a driver that is registered.
func transitionOfD() *lifecyclev1alpha1.LifecycleTransition {
	return &lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: "drain", Annotations: map[string]string{lifecyclev1alpha1.RegisteredCentrallyAnnotation: "d"}},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Driver: "d", Start: "begun", End: "done", AllNodes: new(true)},
	}
}

// counting is a driver that has nothing to do, and counts its runs by node.
func counting() (driverkit.Driver, func() map[string]int) {
	var mu sync.Mutex
	ran := map[string]int{}
	driver := driverkit.Background(func(_ context.Context, call driverkit.Call, _ func(driverkit.Answer)) error {
		mu.Lock()
		defer mu.Unlock()
		ran[call.Node]++
		return nil
	})
	return driver, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(ran)
	}
}

// lastState is the state that the Node's condition names.
func (f *Fleet) lastState(t *testing.T, name string) string {
	t.Helper()
	var node corev1.Node
	if err := f.Cached.Get(t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
		t.Fatal(err)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition {
			return c.Reason
		}
	}
	return ""
}

func TestOneDriverServesAllNodesAndTheyAreForgotten(t *testing.T) {
	const count = 20
	objects, want := []client.Object{transitionOfD()}, map[string]int{}
	for i := range count {
		name := fmt.Sprintf("n%d", i)
		objects = append(objects, readyNode(name), eventOn(name))
		want[name] = 1
	}
	driver, ran := counting()
	f, queue := newFleet(t, driver, objects...)
	for name := range want {
		queue.Add(name)
	}
	f.drive(t, queue, func() bool { return f.eventsLeft(t) == 0 })
	for name := range want { // what the watch does when an event has gone
		queue.Add(name)
	}
	f.drive(t, queue, func() bool { return len(f.nodes()) == 0 })

	if diff := cmp.Diff(want, ran()); diff != "" {
		t.Errorf("runs of the driver by node (-want +got):\n%s", diff)
	}
	for name := range want {
		if got := f.lastState(t, name); got != "done" {
			t.Errorf("node %s says %q", name, got)
		}
	}
}

func TestWhatALeaderHasClaimedTheNextOneFinishes(t *testing.T) {
	before, agents := claimedOn("a"), claimedOn("b")
	before.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: Name}
	for _, e := range []*lifecyclev1alpha1.LifecycleEvent{before, agents} {
		e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "begun", End: "done"}
		e.Status.State = "begun"
	}
	driver, ran := counting()
	f, queue := newFleet(t, driver, transitionOfD(), readyNode("a"), readyNode("b"), before, agents)
	queue.Add("a")
	queue.Add("b")
	f.drive(t, queue, func() bool { return f.eventsLeft(t) == 1 })
	if diff := cmp.Diff(map[string]int{"a": 1}, ran()); diff != "" {
		t.Errorf("what an agent has claimed is the agent's: runs of the driver by node (-want +got):\n%s", diff)
	}
	if got := f.lastState(t, "a"); got != "done" {
		t.Errorf("node a says %q", got)
	}
}

// A standby's caches may show a drain that is over. A call to a driver is no write, which the
// API server would refuse: nothing would stop it.
func TestANewLeaderDoesNotDriveWhatIsOver(t *testing.T) {
	over := claimedOn("a")
	over.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: Name}
	over.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "begun", End: "done"}
	over.Status.State = "begun"
	driver, ran := counting()
	f, queue := newFleet(t, driver, transitionOfD(), readyNode("a"), over)
	f.Live = apiOf(transitionOfD(), readyNode("a"))
	passes := 0
	f.drive(t, queue, func() bool {
		queue.Add("a")
		if f.drivers.Driver("d").Registered {
			passes++
		}
		return passes > 3
	})
	if calls := f.of("a").Calls.Calls(); len(calls)+len(ran()) > 0 {
		t.Errorf("the driver was called (%v), and ran (%v), for an event that is gone", calls, ran())
	}
}

// Somebody has removed the event, with its finalizer, while nobody led.
func TestADrainWhoseEventIsGoneIsEndedOnItsNode(t *testing.T) {
	node := readyNode("n")
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeDrainInProgress, Status: corev1.ConditionTrue, Reason: "AdminRequested", Message: "event e (UID 1): 1/2 pods",
	})
	driver, _ := counting()
	f, _ := newFleet(t, driver, node, readyNode("other"))
	wakes := nodeToDrive(f.Cached)
	if got := append(wakes(t.Context(), node), wakes(t.Context(), readyNode("other"))...); len(got) != 1 {
		t.Fatalf("woken are the loops of %q; want that of n", got)
	}
	if _, err := f.Reconcile(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	var after corev1.Node
	if err := f.Cached.Get(t.Context(), client.ObjectKeyFromObject(node), &after); err != nil {
		t.Fatal(err)
	}
	if transition.DrainShown(&after) {
		t.Errorf("the Node says that it is being drained: %+v", after.Status.Conditions)
	}
	if _, err := f.Reconcile(t.Context(), "n"); err != nil || len(f.nodes()) > 0 {
		t.Errorf("error %v, loops of %q are left; want none", err, f.nodes())
	}
}

// An agent leaves an event to the controller only by the mark, so the controller claims none without it.
func TestTheFleetClaimsEventsOfMarkedTransitions(t *testing.T) {
	unmarked := transitionOfD()
	unmarked.Annotations = nil
	driver, ran := counting()
	f, queue := newFleet(t, driver, unmarked, readyNode("a"), eventOn("a"))
	f.drive(t, queue, func() bool {
		queue.Add("a")
		return f.drivers.Driver("d").Registered
	})
	if _, err := f.Reconcile(t.Context(), "a"); err != nil || len(ran()) > 0 {
		t.Fatalf("error %v, runs %v before the mark", err, ran())
	}
	if _, err := f.Marker().Reconcile(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	queue.Add("a")
	f.drive(t, queue, func() bool { return f.eventsLeft(t) == 0 })

	if _, err := NewMarker(f.Options).Reconcile(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var after lifecyclev1alpha1.LifecycleTransition
	if err := f.Cached.Get(t.Context(), client.ObjectKeyFromObject(unmarked), &after); err != nil || lifecycleevent.RegisteredCentrally(&after) {
		t.Errorf("error %v, annotations %v after a controller without drivers", err, after.Annotations)
	}
}

// The list of drivers on a Node outlives the agent: without an agent it does not count.
func TestADriverThatTheNodesAgentHasIsNotTheControllers(t *testing.T) {
	node := readyNode("a")
	node.Annotations = map[string]string{nodestate.DriversAnnotation: "d,e"}
	agent, elsewhere := agentOn("a"), agentOn("b")
	for name, tc := range map[string]struct {
		objects []client.Object
		want    transition.Central
	}{
		"an agent is there":    {[]client.Object{agent}, transition.Central{NodeDrivers: []string{"d", "e"}}},
		"agents are elsewhere": {[]client.Object{elsewhere}, transition.Central{Agentless: true}},
		"the cluster has none": {nil, transition.Central{Agentless: true, Alone: true}},
	} {
		got, err := Options{Namespace: agent.Namespace, Cached: apiOf(tc.objects...)}.ofAgent(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
