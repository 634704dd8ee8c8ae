// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// script is a Driver made of functions; one that is nil answers at once.
type script struct {
	start, end, stop method
}

func (s script) Start(ctx context.Context, call Call) (Answer, error) {
	return s.do(s.start, ctx, call)
}

func (s script) End(ctx context.Context, call Call) (Answer, error) { return s.do(s.end, ctx, call) }

func (s script) Stop(ctx context.Context, call Call) (Answer, error) { return s.do(s.stop, ctx, call) }

func (s script) do(do method, ctx context.Context, call Call) (Answer, error) {
	if do == nil {
		return Answer{}, nil
	}
	return do(ctx, call)
}

// tempDir has a path that is short enough for sockets, unlike t.TempDir's.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kit")
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

func testConfig(t *testing.T) Config {
	t.Helper()
	dir := tempDir(t)
	return Config{
		DriverName:      "example.com/reboot",
		NodeName:        "n1",
		DataDir:         filepath.Join(dir, "plugins"),
		RegistrationDir: filepath.Join(dir, "registry"),
	}
}

// alarmClock is a fake clock that tells of each timer and ticker that is set.
type alarmClock struct {
	*clocktesting.FakeClock

	timers, tickers chan time.Duration
}

func newAlarmClock() alarmClock {
	return alarmClock{clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), make(chan time.Duration, 100), make(chan time.Duration, 100)}
}

func (c alarmClock) NewTimer(d time.Duration) clock.Timer {
	defer func() { c.timers <- d }()
	return c.FakeClock.NewTimer(d)
}

func (c alarmClock) NewTicker(d time.Duration) clock.Ticker {
	defer func() { c.tickers <- d }()
	return c.FakeClock.NewTicker(d)
}

// ring waits until the next timer or ticker is set, and lets its time pass.
func (c alarmClock) ring(set <-chan time.Duration) {
	c.Step(<-set)
}

// served is a driver that is being served.
type served struct {
	plugin *plugin
	stop   context.CancelFunc
	ended  chan error // what Serve would return

	slm          driverv1.SLMPluginClient
	registration registerapi.RegistrationClient
}

func serve(t *testing.T, config Config, driver Driver) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(quiet(t))
	p, err := listenAll(ctx, config, driver)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	s := &served{
		plugin:       p,
		stop:         cancel,
		ended:        make(chan error, 1),
		slm:          driverv1.NewSLMPluginClient(dial(t, p.driverSocket.path)),
		registration: registerapi.NewRegistrationClient(dial(t, p.registrationSocket.path)),
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.ended <- p.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return s
}

func dial(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func startRequest(event string) *driverv1.StartLifecycleTransitionRequest {
	return &driverv1.StartLifecycleTransitionRequest{
		TransitionName: "reboot", EventName: event, NodeName: "n1", Start: "rebooting", End: "rebooted",
	}
}

func endRequest(event string) *driverv1.EndLifecycleTransitionRequest {
	return &driverv1.EndLifecycleTransitionRequest{
		TransitionName: "reboot", EventName: event, NodeName: "n1", Start: "rebooting", End: "rebooted",
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// eventually waits for what nothing tells of, such as a file that goes.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("still not: %s", what)
		}
	}
}
