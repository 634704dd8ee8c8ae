// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func quiet(t *testing.T) context.Context {
	t.Helper()
	return klog.NewContext(t.Context(), logr.Discard())
}

// tempDir has a path that is short enough for sockets, unlike t.TempDir's.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// patience is how long a test waits for what must happen soon.
const patience = 20 * time.Second

// house is a registry that is being run.
type house struct {
	*Registry

	dir     string
	changed chan struct{}
}

func run(t *testing.T, clock clock.WithTicker, prepare ...func(*Registry)) *house {
	t.Helper()
	return runIn(quiet(t), t, clock, prepare...)
}

func runIn(ctx context.Context, t *testing.T, clock clock.WithTicker, prepare ...func(*Registry)) *house {
	t.Helper()
	h := &house{dir: filepath.Join(tempDir(t), "r"), changed: make(chan struct{}, 1)}
	h.Registry = New([]string{h.dir}, h.notice)
	if clock != nil {
		h.clock = clock
	}
	for _, do := range prepare {
		do(h.Registry)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run fails: %v", err)
		}
	})
	return h
}

// awaitLine waits for a line of the log with that text.
func awaitLine(t *testing.T, lines <-chan string, text string) string {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case line := <-lines:
			if strings.Contains(line, text) {
				return line
			}
		case <-late.C:
			t.Fatalf("no line of the log has %q", text)
		}
	}
}

func (h *house) notice() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// await waits, from change to change, until the driver's state is as it should be.
func (h *house) await(t *testing.T, name, what string, is func(State) bool) State {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		state := h.Driver(name)
		if is(state) {
			return state
		}
		select {
		case <-h.changed:
		case <-late.C:
			t.Fatalf("driver %s is not %s: %+v", name, what, state)
		}
	}
}

func (h *house) awaitRegistered(t *testing.T, name string) State {
	t.Helper()
	return h.await(t, name, "registered", func(s State) bool { return s.Registered })
}

func (h *house) awaitGone(t *testing.T, name string) State {
	t.Helper()
	return h.await(t, name, "gone", func(s State) bool { return !s.Registered })
}

func (h *house) awaitEndpoint(t *testing.T, name, endpoint string) {
	t.Helper()
	h.await(t, name, "at "+endpoint, func(State) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		newest := h.newest(name)
		return newest != nil && newest.endpoint == endpoint
	})
}

// awaitReady checks the driver again after each change, as the agent does.
func (h *house) awaitReady(t *testing.T, name string, since time.Time) {
	t.Helper()
	h.await(t, name, "ready", func(s State) bool {
		if !s.ReadyAt.Before(since) {
			return true
		}
		h.Check(name, h.notice)
		return false
	})
}

// stranger is a driver of somebody else's: it is written against the contract of
// KEP-5683 alone, registers as it likes, and says of a transition what it is told to.
type stranger struct {
	registerapi.UnimplementedRegistrationServer
	driverv1.UnimplementedSLMPluginServer

	info     *registerapi.PluginInfo
	statuses chan *registerapi.RegistrationStatus
	// refuse makes it refuse the outcome.
	refuse func() error
	answer *driverv1.LifecycleTransitionResponse
}

func newStranger(name, endpoint string) *stranger {
	return &stranger{
		info: &registerapi.PluginInfo{
			Type: "SLMPlugin", Name: name, Endpoint: endpoint, SupportedVersions: []string{"v1alpha1.SLMPlugin"},
		},
		statuses: make(chan *registerapi.RegistrationStatus, 100),
		answer:   &driverv1.LifecycleTransitionResponse{},
	}
}

func (s *stranger) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return s.info, nil
}

func (s *stranger) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	s.statuses <- status
	if s.refuse != nil {
		if err := s.refuse(); err != nil {
			return nil, err
		}
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (s *stranger) StartLifecycleTransition(_ context.Context, r *driverv1.StartLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	return &driverv1.LifecycleTransitionResponse{LifecycleCondition: r.GetStart(), NodeName: r.GetNodeName()}, nil
}

func (s *stranger) EndLifecycleTransition(context.Context, *driverv1.EndLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	return s.answer, nil
}

func (s *stranger) wantStatus(t *testing.T) *registerapi.RegistrationStatus {
	t.Helper()
	select {
	case status := <-s.statuses:
		return status
	case <-time.After(patience):
		t.Fatal("the driver was not told whether it is registered")
		return nil
	}
}

// serve listens on the socket with both services. What it returns makes it die: as a
// process does that is killed, it leaves the socket's file behind.
func (s *stranger) serve(t *testing.T, path string) (kill func()) {
	t.Helper()
	return s.serveOn(t, listenAt(t, path))
}

func (s *stranger) serveOn(t *testing.T, listener net.Listener) (kill func()) {
	t.Helper()
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, s)
	driverv1.RegisterSLMPluginServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(kill)
	return kill
}

// listenAt leaves the file behind when it is closed. The socket appears when it can be
// connected to, so that tests in which time stands still see no second try.
func listenAt(t *testing.T, path string) net.Listener {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	draft := filepath.Join(filepath.Dir(path), ".draft")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: draft, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	t.Cleanup(func() { _ = listener.Close() })
	if err := os.Rename(draft, path); err != nil {
		t.Fatal(err)
	}
	return listener
}

// bindAt makes a socket, and listens to it later.
func bindAt(t *testing.T, path string) (listen func() net.Listener) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { _ = file.Close() })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	return func() net.Listener {
		if err := syscall.Listen(fd, 10); err != nil {
			t.Fatal(err)
		}
		listener, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// stillClock is a clock that stands still: nothing is tried again.
func stillClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
}
