// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/testing/protocmp"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	"github.com/slipway-k8s/slipway/driverkit"
)

func startRequest() *driverv1.StartLifecycleTransitionRequest {
	return &driverv1.StartLifecycleTransitionRequest{
		TransitionName: "t", EventName: "a", NodeName: "n1", Start: "s", End: "e", EventUid: "u",
	}
}

func endRequest() *driverv1.EndLifecycleTransitionRequest {
	return &driverv1.EndLifecycleTransitionRequest{
		TransitionName: "t", EventName: "a", NodeName: "n1", Start: "s", End: "e", EventUid: "u",
	}
}

func (h *house) start(t *testing.T, name string) (*driverv1.LifecycleTransitionResponse, error) {
	t.Helper()
	client, err := h.Client(name)
	if err != nil {
		t.Fatal(err)
	}
	return client.StartLifecycleTransition(t.Context(), startRequest())
}

// A driver that was written against the KEP alone knows no field from 10 on, and no
// more is asked of it.
func TestStranger(t *testing.T) {
	h := run(t, nil)
	d := newStranger("kep.example.com", "")
	d.answer = &driverv1.LifecycleTransitionResponse{LifecycleCondition: "e", NodeName: "n1"}
	d.serve(t, filepath.Join(h.dir, "kep-reg.sock"))
	h.awaitRegistered(t, "kep.example.com")
	h.awaitReady(t, "kep.example.com", time.Now())

	got, err := h.start(t, "kep.example.com")
	if err != nil {
		t.Fatal(err)
	}
	want := &driverv1.LifecycleTransitionResponse{LifecycleCondition: "s", NodeName: "n1"}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("answer to Start (-want +got):\n%s", diff)
	}
	client, err := h.Client("kep.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if got, err = client.EndLifecycleTransition(t.Context(), endRequest()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.answer, got, protocmp.Transform()); diff != "" {
		t.Errorf("answer to End (-want +got):\n%s", diff)
	}
}

func TestClient(t *testing.T) {
	t.Run("of a driver that is not registered", func(t *testing.T) {
		h := run(t, nil)
		if _, err := h.Client("d"); !errors.Is(err, ErrNotRegistered) {
			t.Errorf("error is %v", err)
		}
	})

	t.Run("an answer that is too large is an error", func(t *testing.T) {
		h := run(t, nil)
		d := newStranger("d", "")
		d.answer = &driverv1.LifecycleTransitionResponse{Message: strings.Repeat("x", 5<<20)}
		d.serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		client, err := h.Client("d")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.EndLifecycleTransition(t.Context(), endRequest()); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("error is %v", err)
		}
	})

	t.Run("a driver that came back at the same endpoint", func(t *testing.T) {
		h := run(t, nil)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		kill := newStranger("", "").serve(t, endpoint)
		h.awaitRegistered(t, "d")
		if _, err := h.start(t, "d"); err != nil {
			t.Fatal(err)
		}
		kill()
		if _, err := h.start(t, "d"); status.Code(err) != codes.Unavailable {
			t.Errorf("error is %v, want Unavailable", err)
		}
		remove(t, endpoint)
		newStranger("", "").serve(t, endpoint)
		eventually(t, "it answers again", func() bool {
			_, err := h.start(t, "d")
			return err == nil
		})
	})
}

// serveKit serves a driver of the kit, and returns what ends it.
func serveKit(t *testing.T, h *house, instance, message string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(quiet(t))
	ended := make(chan error, 1)
	go func() {
		ended <- driverkit.Serve(ctx, driverkit.Config{
			DriverName:      "example.com/reboot",
			NodeName:        "n1",
			DataDir:         filepath.Join(filepath.Dir(h.dir), "p"),
			RegistrationDir: h.dir,
			Instance:        instance,
		}, driverkit.Background(func(ctx context.Context, _ driverkit.Call, report func(driverkit.Answer)) error {
			report(driverkit.Answer{Message: message})
			<-ctx.Done()
			return context.Cause(ctx)
		}))
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve fails: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// TestKit is an update of a driver that was made with the kit: two instances side by
// side, the newer one first taking over and then going away.
func TestKit(t *testing.T) {
	const name = "example.com/reboot"
	h := run(t, nil)
	endpoint := func(instance string) string {
		return filepath.Join(filepath.Dir(h.dir), "p", "example.com~reboot", "slm-"+instance+".sock")
	}
	stopOld := serveKit(t, h, "old", "I am old")
	h.awaitEndpoint(t, name, endpoint("old"))
	h.awaitReady(t, name, time.Now())
	if _, err := h.start(t, name); err != nil {
		t.Fatal(err)
	}

	stopNew := serveKit(t, h, "new", "I am new")
	h.awaitEndpoint(t, name, endpoint("new"))
	h.awaitReady(t, name, time.Now())
	h.awaitMessage(t, name, "I am new")

	stopNew()
	h.awaitEndpoint(t, name, endpoint("old"))
	h.awaitMessage(t, name, "I am old")
	stopOld()
	h.awaitGone(t, name)
}

// A driver in the agent's process has no socket: no other process can call it.
func TestADriverInThisProcessIsCalledWithoutASocket(t *testing.T) {
	listener := bufconn.Listen(InProcessBuffer)
	h := run(t, nil, func(r *Registry) { r.AddInProcess("example.com/reboot", listener.DialContext) })
	ctx, cancel := context.WithCancel(quiet(t))
	ended := make(chan error, 1)
	go func() {
		ended <- driverkit.Serve(ctx, driverkit.Config{DriverName: "example.com/reboot", NodeName: "n1", Listener: listener},
			driverkit.Background(func(ctx context.Context, _ driverkit.Call, report func(driverkit.Answer)) error {
				report(driverkit.Answer{Message: "I am here"})
				<-ctx.Done()
				return context.Cause(ctx)
			}))
	}()
	h.awaitReady(t, "example.com/reboot", time.Now())
	if _, err := h.start(t, "example.com/reboot"); err != nil {
		t.Fatal(err)
	}
	h.awaitMessage(t, "example.com/reboot", "I am here")
	if entries, err := os.ReadDir(h.dir); err != nil || len(entries) > 0 {
		t.Errorf("the registration directory has %v, %v", entries, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve fails: %v", err)
	}
}

func (h *house) awaitMessage(t *testing.T, name, want string) {
	t.Helper()
	eventually(t, "the driver says "+want, func() bool {
		client, err := h.Client(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.EndLifecycleTransition(t.Context(), endRequest())
		if err != nil {
			t.Fatal(err)
		}
		return got.GetMessage() == want
	})
}
