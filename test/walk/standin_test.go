// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// StandIn is a driver that the test plays itself, with generated code only. It begins
// whatever it is asked to, and is done when the test says so.
type StandIn struct {
	driverv1.UnimplementedSLMPluginServer

	t            *testing.T
	name         string
	driver       string // the path of its socket
	registration string

	state    harness.Observed
	calls    []string
	failure  string
	finished chan struct{}
	onStop   func(event string)
	servers  []*grpc.Server
}

// StandIn registers a driver on the node.
func newStandIn(t *testing.T, n *harness.Node, name string) *StandIn {
	t.Helper()
	d := absentDriver(t, n, name)
	d.Register()
	return d
}

// MuteDriver registers a driver whose socket accepts connections and never speaks on
// them.
func newMuteDriver(t *testing.T, n *harness.Node, name string) *StandIn {
	t.Helper()
	d := absentDriver(t, n, name)
	d.listen(d.driver)
	d.register()
	return d
}

func absentDriver(t *testing.T, n *harness.Node, name string) *StandIn {
	d := &StandIn{
		t: t, name: name, driver: filepath.Join(n.DataDir(), name, "slm.sock"),
		registration: filepath.Join(n.RegistrationDir(), name+"-reg.sock"),
		finished:     make(chan struct{}),
	}
	for _, path := range []string{d.driver, d.registration} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(d.Leave)
	return d
}

// Register makes it serve and register, also after it has left.
func (d *StandIn) Register() {
	d.t.Helper()
	server := grpc.NewServer()
	driverv1.RegisterSLMPluginServer(server, d)
	d.serve(server, d.driver)
	d.register()
}

func (d *StandIn) register() {
	d.t.Helper()
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, harness.Registration{Name: d.name, Endpoint: d.driver})
	d.serve(server, d.registration)
}

func (d *StandIn) serve(server *grpc.Server, path string) {
	d.t.Helper()
	listener := d.listen(path)
	d.state.Look(func() { d.servers = append(d.servers, server) })
	go func() { _ = server.Serve(listener) }() // ends with Stop, in Leave
}

// listen listens where a process that was killed may have left its socket.
func (d *StandIn) listen(path string) net.Listener {
	d.t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		d.t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	d.t.Cleanup(func() { _ = listener.Close() }) // a server closes it as well
	return listener
}

// Leave ends it as a process that is killed: its sockets stay, and nobody listens.
func (d *StandIn) Leave() {
	var servers []*grpc.Server
	d.state.Look(func() { servers, d.servers = d.servers, nil })
	for _, server := range slices.Backward(servers) {
		server.Stop()
	}
}

// Finish makes it answer with the end state from now on.
func (d *StandIn) Finish() { close(d.finished) }

// Fail makes it answer with an error from now on.
func (d *StandIn) Fail(message string) { d.state.Look(func() { d.failure = message }) }

// OnLastEnd is called when it is told that an event is over, before it answers.
func (d *StandIn) OnLastEnd(f func(event string)) { d.state.Look(func() { d.onStop = f }) }

// Calls are those that came so far, as "Start NAME", "End NAME" and "LastEnd NAME".
func (d *StandIn) Calls() (calls []string) {
	d.state.Look(func() { calls = slices.Clone(d.calls) })
	return calls
}

// AwaitCall waits until the call has come.
func (d *StandIn) AwaitCall(call string) {
	d.t.Helper()
	if !d.state.Await(nil, func() bool { return slices.Contains(d.calls, call) }) {
		d.t.Fatalf("driver %s did not get the call %q; it got %q", d.name, call, d.Calls())
	}
}

func (d *StandIn) called(call string) (failure string) {
	d.state.Change(func() { d.calls, failure = append(d.calls, call), d.failure })
	return failure
}

// StartLifecycleTransition is the contract's.
func (d *StandIn) StartLifecycleTransition(_ context.Context, r *driverv1.StartLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	failure := d.called("Start " + r.GetEventName())
	return &driverv1.LifecycleTransitionResponse{LifecycleCondition: r.GetStart(), Error: failure, Waits: true}, nil
}

// EndLifecycleTransition is the contract's. It holds its answer until it is finished.
func (d *StandIn) EndLifecycleTransition(ctx context.Context, r *driverv1.EndLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	if r.GetSlaExpired() {
		var onStop func(string)
		d.state.Look(func() { onStop = d.onStop })
		if onStop != nil {
			onStop(r.GetEventName())
		}
		return &driverv1.LifecycleTransitionResponse{LifecycleCondition: r.GetStart(), Error: d.called("LastEnd " + r.GetEventName())}, nil
	}
	answer := &driverv1.LifecycleTransitionResponse{LifecycleCondition: r.GetStart(), Error: d.called("End " + r.GetEventName()), Waits: true}
	wait := time.NewTimer(r.GetWait().AsDuration())
	defer wait.Stop()
	select {
	case <-d.finished:
		answer.LifecycleCondition = r.GetEnd()
	case <-wait.C:
	case <-ctx.Done():
	}
	return answer, nil
}
