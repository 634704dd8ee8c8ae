// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// plainDriver is a driver as somebody writes it who knows the SLM design and nothing of
// Slipway: it has no driverkit, and of the messages the fields 1 to 6 only.
type plainDriver struct {
	driverv1.UnimplementedSLMPluginServer
	registerapi.UnimplementedRegistrationServer

	name, socket string
	// start and end answer the calls. end is told how many calls there were before.
	start func() *driverv1.LifecycleTransitionResponse
	end   func(before int) *driverv1.LifecycleTransitionResponse

	mu       sync.Mutex
	calls    []plainCall
	notified []string
}

// plainCall is what such a driver sees of a call.
type plainCall struct {
	Method                            string
	Transition, Event, Node, From, To string
	SLAExpired                        bool
	at                                time.Time
}

// serve registers the driver on the node.
func (d *plainDriver) serve(t *testing.T, node *harness.Node) {
	t.Helper()
	file := strings.ReplaceAll(d.name, "/", "-") // the name of a socket is the driver's affair
	d.socket = filepath.Join(node.DataDir(), file+".sock")
	server := grpc.NewServer()
	driverv1.RegisterSLMPluginServer(server, d)
	d.listen(t, server, d.socket)
	registration := grpc.NewServer()
	registerapi.RegisterRegistrationServer(registration, d)
	d.listen(t, registration, filepath.Join(node.RegistrationDir(), file+"-reg.sock"))
}

func (d *plainDriver) listen(t *testing.T, server *grpc.Server, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends with Stop
	t.Cleanup(func() { server.Stop(); serving.Wait() })
}

// GetInfo says who the driver is, in the words of the design.
func (d *plainDriver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: "SLMPlugin", Name: d.name, Endpoint: d.socket, SupportedVersions: []string{"v1alpha1.SLMPlugin"},
	}, nil
}

// NotifyRegistrationStatus is told that it is registered.
func (d *plainDriver) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	outcome := "registered"
	if !status.GetPluginRegistered() {
		outcome = status.GetError()
	}
	d.notified = append(d.notified, outcome)
	return &registerapi.RegistrationStatusResponse{}, nil
}

// StartLifecycleTransition begins.
func (d *plainDriver) StartLifecycleTransition(_ context.Context, r *driverv1.StartLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	d.note(plainCall{"Start", r.GetTransitionName(), r.GetEventName(), r.GetNodeName(), r.GetStart(), r.GetEnd(), false, time.Now()})
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.start(), nil
}

// EndLifecycleTransition says whether it is done. It answers at once.
func (d *plainDriver) EndLifecycleTransition(_ context.Context, r *driverv1.EndLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	before := d.note(plainCall{"End", r.GetTransitionName(), r.GetEventName(), r.GetNodeName(), r.GetStart(), r.GetEnd(), r.GetSlaExpired(), time.Now()})
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.end(before), nil
}

// note keeps the call, and says how many of its method there were before.
func (d *plainDriver) note(call plainCall) (before int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c.Method == call.Method {
			before++
		}
	}
	d.calls = append(d.calls, call)
	return before
}

func (d *plainDriver) seen() []plainCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// outcomes are what it was told of its registration.
func (d *plainDriver) outcomes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notified)
}

// wantCalls checks which calls came for an event.
func (d *plainDriver) wantCalls(t *testing.T, want ...plainCall) {
	t.Helper()
	ignoreTime := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".at" }, cmp.Ignore())
	if diff := cmp.Diff(want, d.seen(), cmp.AllowUnexported(plainCall{}), ignoreTime); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
}

// answer makes it give the same answers from now on.
func (d *plainDriver) answer(start, end *driverv1.LifecycleTransitionResponse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.start = func() *driverv1.LifecycleTransitionResponse { return start }
	d.end = func(int) *driverv1.LifecycleTransitionResponse { return end }
}

// state is an answer with the fields of the design.
func state(name, node string) *driverv1.LifecycleTransitionResponse {
	return &driverv1.LifecycleTransitionResponse{LifecycleCondition: name, NodeName: node}
}

// transitionOf creates a transition of the node by a driver. Its states are "from" and
// "to".
func transitionOf(t *testing.T, env *harness.Env, node *harness.Node, name, driver string) *lifecyclev1alpha1.LifecycleTransition {
	t.Helper()
	transition := &lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Start: "from", End: "to", Driver: driver, NodeName: node.Name},
	}
	if err := env.Client.Create(t.Context(), transition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.DeleteQuietly(transition) })
	return transition
}

func TestTheNamesOnTheWireAreThoseOfTheDesign(t *testing.T) {
	t.Parallel()
	const service = "/k8s.io.kubelet.pkg.apis.slm.v1alpha1.SLMPlugin/"
	want := []string{service + "StartLifecycleTransition", service + "EndLifecycleTransition", "SLMPlugin", "v1alpha1.SLMPlugin"}
	got := []string{
		driverv1.SLMPlugin_StartLifecycleTransition_FullMethodName, driverv1.SLMPlugin_EndLifecycleTransition_FullMethodName,
		driverv1.PluginType, driverv1.ServiceName,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The numbers below 10 are the design's: there is one for each of its fields, and no
// other.
func TestTheFieldNumbersOnTheWireAreThoseOfTheDesign(t *testing.T) {
	t.Parallel()
	want := map[string]map[int]string{
		"StartLifecycleTransitionRequest": {1: "transition_name", 2: "event_name", 3: "node_name", 4: "start", 5: "end"},
		"EndLifecycleTransitionRequest": {
			1: "transition_name", 2: "event_name", 3: "node_name", 4: "start", 5: "end", 6: "sla_expired",
		},
		"LifecycleTransitionResponse": {1: "lifecycle_condition", 2: "node_name", 3: "error"},
	}
	got := map[string]map[int]string{}
	messages := driverv1.File_v1alpha1_driver_proto.Messages()
	for name := range want {
		fields := messages.ByName(protoreflect.Name(name)).Fields()
		got[name] = map[int]string{}
		for i := range fields.Len() {
			if field := fields.Get(i); field.Number() < 10 {
				got[name][int(field.Number())] = string(field.Name())
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADriverThatKnowsOnlyTheDesignIsDriven(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "plain")
	name, event := "plain."+node.Name, node.EventName("plain")
	driver := &plainDriver{
		name:  "example.com/plain",
		start: func() *driverv1.LifecycleTransitionResponse { return state("from", node.Name) },
		end: func(before int) *driverv1.LifecycleTransitionResponse {
			if before == 0 {
				return state("from", node.Name)
			}
			return state("to", node.Name)
		},
	}
	driver.serve(t, node)
	transitionOf(t, env, node, name, driver.name)
	h := node.Record()
	node.Agent("", "--builtin-drivers=")

	node.Event(event, name)
	drained(t, env, h, event)
	driver.wantCalls(t,
		plainCall{Method: "Start", Transition: name, Event: event, Node: node.Name, From: "from", To: "to"},
		plainCall{Method: "End", Transition: name, Event: event, Node: node.Name, From: "from", To: "to"},
		plainCall{Method: "End", Transition: name, Event: event, Node: node.Name, From: "from", To: "to"},
	)
	calls := driver.seen()
	if polled := calls[2].at.Sub(calls[1].at).Round(time.Second); polled < 10*time.Second || polled > time.Minute {
		t.Errorf("End was called %s after the last one; want 10s", polled)
	}
	if diff := cmp.Diff([]string{"registered"}, driver.outcomes()); diff != "" {
		t.Errorf("what it was told of its registration (-want +got):\n%s", diff)
	}
	h.Await("node to")
	if diff := cmp.Diff([]string{"from", "to"}, h.States("node")); diff != "" {
		t.Errorf("reasons of the Node's condition (-want +got):\n%s", diff)
	}
}

func TestADriverThatKnowsOnlyTheDesignIsToldThatItsTimeIsUp(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "plain-sla")
	name, event := "plain."+node.Name, node.EventName("plain")
	driver := &plainDriver{
		name:  "example.com/plain",
		start: func() *driverv1.LifecycleTransitionResponse { return state("from", node.Name) },
		end:   func(int) *driverv1.LifecycleTransitionResponse { return state("from", node.Name) },
	}
	driver.serve(t, node)
	transitionOf(t, env, node, name, driver.name)
	node.Agent("", "--builtin-drivers=")

	node.Event(event, name, harness.Kept, harness.SLA(10*time.Second))
	ended := env.Outcome(t, event)
	if ended.Status.ClaimStatus != lifecyclev1alpha1.SlaExpired {
		t.Errorf("the event ended as %s; want SlaExpired", ended.Status.ClaimStatus)
	}
	// How often it was asked before depends on how long the agent took to begin.
	calls := driver.seen()
	if len(calls) < 3 || calls[0].Method != "Start" || calls[0].SLAExpired {
		t.Fatalf("calls: %+v; want Start, End and the End that says that the time is up", calls)
	}
	last := calls[len(calls)-1]
	is := plainCall{Transition: name, Event: event, Node: node.Name, From: "from", To: "to"}
	for _, call := range calls[1:] {
		is.Method, is.SLAExpired, is.at = "End", call == last, call.at
		if diff := cmp.Diff(is, call, cmp.AllowUnexported(plainCall{})); diff != "" {
			t.Errorf("a call (-want +got):\n%s", diff)
		}
	}
	if late := last.at.Sub(ended.Status.SLA.Time); late < 0 || late > time.Minute {
		t.Errorf("it was told %s after the deadline", late)
	}
}

// An answer to Start that says nothing means that it is accepted, and an answer without
// a node that it is about the own one.
func TestADriverMaySayLittle(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "terse")
	name, event := "terse."+node.Name, node.EventName("terse")
	driver := &plainDriver{
		name:  "terse.example.com",
		start: func() *driverv1.LifecycleTransitionResponse { return &driverv1.LifecycleTransitionResponse{} },
		end:   func(int) *driverv1.LifecycleTransitionResponse { return state("to", "") },
	}
	driver.serve(t, node)
	transitionOf(t, env, node, name, driver.name)
	h := node.Record()
	node.Agent("", "--builtin-drivers=")

	node.Event(event, name)
	drained(t, env, h, event)
	if diff := cmp.Diff([]string{"from", "to"}, h.States("node")); diff != "" {
		t.Errorf("reasons of the Node's condition (-want +got):\n%s", diff)
	}
}
