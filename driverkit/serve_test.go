// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func TestServeRegisters(t *testing.T) {
	config := testConfig(t)
	s := serve(t, config, script{})

	got, err := s.registration.GetInfo(t.Context(), &registerapi.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &registerapi.PluginInfo{
		Type:              "SLMPlugin",
		Name:              "example.com/reboot",
		Endpoint:          filepath.Join(config.DataDir, "example.com~reboot", "slm.sock"),
		SupportedVersions: []string{"v1alpha1.SLMPlugin"},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("plugin info (-want +got):\n%s", diff)
	}
	for _, registered := range []bool{true, false, false} {
		notice := &registerapi.RegistrationStatus{PluginRegistered: registered, Error: "for a test"}
		if _, err := s.registration.NotifyRegistrationStatus(t.Context(), notice); err != nil {
			t.Errorf("NotifyRegistrationStatus(%v): %v", notice, err)
		}
	}
}

func TestServeRestrictsFiles(t *testing.T) {
	config := testConfig(t)
	own := filepath.Join(config.DataDir, "example.com~reboot")
	if err := os.MkdirAll(own, 0o755); err != nil { // from an older version
		t.Fatal(err)
	}
	serve(t, config, script{})
	for path, want := range map[string]os.FileMode{
		own:                            0o700 | os.ModeDir,
		filepath.Join(own, "slm.sock"): 0o600 | os.ModeSocket,
		config.RegistrationDir:         0o700 | os.ModeDir,
		filepath.Join(config.RegistrationDir, "example.com~reboot", "reg.sock"): 0o600 | os.ModeSocket,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %s, want %s", path, info.Mode(), want)
		}
	}
}

// leaveBehind makes a socket as a process leaves it that was killed.
func leaveBehind(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestServeReplacesStaleSockets(t *testing.T) {
	config := testConfig(t)
	paths, err := config.socketPaths()
	if err != nil {
		t.Fatal(err)
	}
	leaveBehind(t, paths.driver)
	leaveBehind(t, paths.registration)
	leaveBehind(t, filepath.Join(filepath.Dir(paths.driver), ".slm.sock"))

	s := serve(t, config, script{})
	if _, err := s.slm.StartLifecycleTransition(t.Context(), startRequest("a")); err != nil {
		t.Error(err)
	}
	if _, err := s.registration.GetInfo(t.Context(), &registerapi.InfoRequest{}); err != nil {
		t.Error(err)
	}
}

func TestServeRemovesWhatInstancesLeftBehind(t *testing.T) {
	for _, driverName := range []string{"example.com/reboot", strings.Repeat("a", 200)} {
		config := testConfig(t)
		config.DriverName = driverName
		config.Instance = "dead"
		dead, err := config.socketPaths()
		if err != nil {
			t.Fatal(err)
		}
		config.Instance = "alive"
		alive := serve(t, config, script{})
		leaveBehind(t, dead.driver)
		leaveBehind(t, dead.registration)

		config.Instance = "new"
		serve(t, config, script{})
		for path, want := range map[string]bool{
			dead.driver: false, dead.registration: false,
			alive.plugin.driverSocket.path: true, alive.plugin.registrationSocket.path: true,
		} {
			if got := exists(t, path); got != want {
				t.Errorf("%s exists: %v, want %v", path, got, want)
			}
		}
	}
}

func TestServeTwice(t *testing.T) {
	config := testConfig(t)
	first := serve(t, config, script{})

	err := Serve(quiet(t), config, script{})
	if err == nil || !strings.Contains(err.Error(), "Instance") {
		t.Fatalf("error is %v, want one that says what Instance is for", err)
	}
	if _, err := first.slm.StartLifecycleTransition(t.Context(), startRequest("a")); err != nil {
		t.Errorf("the first one does not serve any more: %v", err)
	}

	config.Instance = "new"
	second := serve(t, config, script{})
	first.stop()
	if err := <-first.ended; err != nil {
		t.Error(err)
	}
	if _, err := second.slm.StartLifecycleTransition(t.Context(), startRequest("a")); err != nil {
		t.Errorf("the second one does not serve: %v", err)
	}
}

func TestServeStops(t *testing.T) {
	t.Run("the registration goes first, calls are waited for, no file is left", func(t *testing.T) {
		called, release := make(chan struct{}), make(chan struct{})
		s := serve(t, testConfig(t), script{start: func(context.Context, Call) (Answer, error) {
			close(called)
			<-release
			return Answer{Message: "accepted"}, nil
		}})
		answers := make(chan string, 1)
		go func() {
			response, err := s.slm.StartLifecycleTransition(quiet(t), startRequest("a"))
			answers <- response.GetMessage() + status.Code(err).String()
		}()
		<-called
		s.stop()
		eventually(t, "the sockets are gone", func() bool {
			return !exists(t, s.plugin.registrationSocket.path) && !exists(t, s.plugin.driverSocket.path)
		})
		close(release)
		if got := <-answers; got != "acceptedOK" {
			t.Errorf("the call was answered with %s", got)
		}
		if err := <-s.ended; err != nil {
			t.Errorf("Serve fails: %v", err)
		}
	})

	t.Run("answers that are held are given at once", func(t *testing.T) {
		held := make(chan struct{})
		s := serve(t, testConfig(t), script{end: func(ctx context.Context, _ Call) (Answer, error) {
			close(held)
			<-ctx.Done()
			return Answer{}, context.Cause(ctx)
		}})
		codesSeen := make(chan codes.Code, 1)
		go func() {
			request := endRequest("a")
			request.Wait = durationpb.New(time.Hour)
			_, err := s.slm.EndLifecycleTransition(quiet(t), request)
			codesSeen <- status.Code(err)
		}()
		<-held
		s.stop()
		if got := <-codesSeen; got != codes.Unavailable {
			t.Errorf("code is %s, want Unavailable", got)
		}
		if err := <-s.ended; err != nil {
			t.Errorf("Serve fails: %v", err)
		}
	})

	t.Run("calls that do not end are cut off", func(t *testing.T) {
		config, clock := testConfig(t), newAlarmClock()
		config.Clock = clock
		called, release := make(chan struct{}), make(chan struct{})
		s := serve(t, config, script{start: func(ctx context.Context, _ Call) (Answer, error) {
			close(called)
			<-release
			return Answer{}, ctx.Err()
		}})
		defer close(release)
		go func() { _, _ = s.slm.StartLifecycleTransition(quiet(t), startRequest("a")) }()
		<-called
		s.stop()
		clock.ring(clock.timers)
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "aborted") {
			t.Errorf("error is %v, want one that says so", err)
		}
	})

	t.Run("background work that does not stop is given up", func(t *testing.T) {
		config, clock := testConfig(t), newAlarmClock()
		config.Clock = clock
		release := make(chan struct{})
		s := serve(t, config, Background(func(context.Context, Call, func(Answer)) error {
			<-release
			return nil
		}))
		defer close(release)
		if _, err := s.slm.StartLifecycleTransition(quiet(t), startRequest("a")); err != nil {
			t.Fatal(err)
		}
		s.stop()
		clock.ring(clock.timers)
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "event a") {
			t.Errorf("error is %v, want one that names the event", err)
		}
	})

	t.Run("a ctx that has ended already", func(t *testing.T) {
		config := testConfig(t)
		ctx, cancel := context.WithCancel(quiet(t))
		cancel()
		if err := Serve(ctx, config, script{}); err != nil {
			t.Error(err)
		}
		left, err := filepath.Glob(filepath.Join(config.RegistrationDir, "*", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestServeFails(t *testing.T) {
	t.Run("when a socket is taken away", func(t *testing.T) {
		config, clock := testConfig(t), newAlarmClock()
		config.Clock = clock
		s := serve(t, config, script{})
		if err := os.Remove(s.plugin.registrationSocket.path); err != nil {
			t.Fatal(err)
		}
		clock.ring(clock.tickers)
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "reg.sock was removed") {
			t.Errorf("error is %v, want one that names the socket", err)
		}
	})

	t.Run("when a listener fails, and leaves a socket alone that is another's", func(t *testing.T) {
		s := serve(t, testConfig(t), script{})
		path := s.plugin.registrationSocket.path
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		leaveBehind(t, path)
		if err := s.plugin.driverSocket.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-s.ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("error is %v, want that of the listener", err)
		}
		if !exists(t, path) {
			t.Error("the other's socket was removed")
		}
	})

	t.Run("when the config is not valid", func(t *testing.T) {
		err := Serve(quiet(t), Config{DriverName: "d"}, script{})
		if err == nil || err.Error() != "driver d: invalid config: NodeName: is required" {
			t.Errorf("error is %v", err)
		}
	})
}
