// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// driverName is that of the driver of a manner, and of its transition.
func driverName(m plan.Manner) string { return string(m) + ".chaos.example.com" }

// publish creates the transitions of the drivers.
func (s *stage) publish() {
	s.t.Helper()
	for _, m := range []plan.Manner{plan.Slow, plan.Broken, plan.Lying, plan.Doubled, plan.Garbled, plan.Central} {
		s.env.Transition(s.t, driverName(m), driverName(m))
	}
}

// drive has a driver that does not behave take a node through its transition. The event
// ends well, as the driver comes to say that it is done; what it says is no drain, so the
// node and its pods stay as they are, unless another job is about them.
func (s *stage) drive(t *testing.T, job plan.Job, alone bool) {
	t.Helper()
	node, before := s.nodes[job.Nodes[0]], s.pods(t)
	d := &driver{manner: job.Manner}
	defer d.leave()
	agents := []*member{s.members[job.Nodes[0]]}
	if job.Manner == plan.Central {
		agents = []*member{s.members[plan.Controllers], s.members[plan.Controllers+1]}
	}
	for _, m := range agents {
		for _, instance := range d.instances() {
			if err := d.serve(m, instance); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.succeeds(t, s.ask(t, node, driverName(job.Manner)))
	if !alone {
		return
	}
	after := map[string]bool{}
	for _, p := range s.pods(t) {
		after[string(p.UID)] = true
	}
	for _, p := range before {
		if p.Spec.NodeName == node && !after[string(p.UID)] {
			t.Errorf("pod %s of node %s is gone, which nobody drains", p.Name, node)
		}
	}
	s.isBack(t, node)
}

// driver is one of the test's own.
type driver struct {
	driverv1.UnimplementedSLMPluginServer

	manner  plan.Manner
	mu      sync.Mutex
	servers []*grpc.Server
	conns   []net.Conn
	spoilt  int // calls or connections that it has not let pass
}

// spoils is how often a driver that fails at first does so.
const spoils = 3

func (d *driver) instances() []string {
	if d.manner == plan.Doubled {
		return []string{"a", "b"}
	}
	return []string{"a"}
}

// serve serves, and registers with the agent or the controller.
func (d *driver) serve(m *member, instance string) error {
	name := driverName(d.manner)
	at := filepath.Join(m.dataDir(), string(d.manner)+"-"+instance+".sock")
	server := grpc.NewServer()
	driverv1.RegisterSLMPluginServer(server, d)
	if err := d.listen(server, at); err != nil {
		return err
	}
	registration := grpc.NewServer()
	registerapi.RegisterRegistrationServer(registration, harness.Registration{Name: name, Endpoint: at})
	return d.listen(registration, filepath.Join(m.registrationDir(), string(d.manner)+"-"+instance+"-reg.sock"))
}

func (d *driver) listen(server *grpc.Server, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.servers = append(d.servers, server)
	go func() { _ = server.Serve(driverListener{l, d}) }() // ends with Stop, in leave
	return nil
}

// leave ends it, and takes its sockets away.
func (d *driver) leave() {
	d.mu.Lock()
	servers := d.servers
	d.mu.Unlock()
	for _, server := range servers {
		server.Stop()
	}
}

// spoil says whether this one is to fail.
func (d *driver) spoil() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoilt++
	return d.spoilt <= spoils
}

// driverListener is what the driver's callers connect to.
type driverListener struct {
	net.Listener
	of *driver
}

// Accept answers the first ones of a garbled driver with what is no gRPC.
func (l driverListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.of.manner != plan.Garbled || !l.of.spoil() {
			l.of.mu.Lock()
			l.of.conns = append(l.of.conns, c)
			l.of.mu.Unlock()
			return c, nil
		}
		_, _ = c.Write([]byte("\x00\xff\x13PRI * HTTP/9\r\n\r\n{\"end\":\"drain-complete\"}"))
		_ = c.Close()
	}
}

// breakOff closes all connections, this call's among them.
func (d *driver) breakOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		_ = c.Close() // it may be closed already
	}
	d.conns = nil
}

// answer is the driver's, in its manner, when it has begun or is done.
func (d *driver) answer(ctx context.Context, begun, done string) (*driverv1.LifecycleTransitionResponse, error) {
	answer := &driverv1.LifecycleTransitionResponse{LifecycleCondition: begun, Waits: true}
	switch d.manner {
	case plan.Slow:
		late := time.NewTimer(2 * time.Second)
		defer late.Stop()
		select {
		case <-late.C:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	case plan.Broken:
		if d.spoil() {
			d.breakOff()
			return nil, status.Error(codes.Unavailable, "broken off")
		}
	case plan.Lying:
		answer.LifecycleCondition = done
		answer.Progress = &driverv1.Progress{Total: 1, Done: 7}
	case plan.Doubled, plan.Garbled, plan.Central:
	}
	return answer, nil
}

// StartLifecycleTransition is the contract's.
func (d *driver) StartLifecycleTransition(ctx context.Context, r *driverv1.StartLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	return d.answer(ctx, r.GetStart(), r.GetEnd())
}

// EndLifecycleTransition is the contract's.
func (d *driver) EndLifecycleTransition(ctx context.Context, r *driverv1.EndLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	if r.GetSlaExpired() {
		return d.answer(ctx, r.GetStart(), r.GetStart())
	}
	return d.answer(ctx, r.GetEnd(), r.GetEnd())
}
