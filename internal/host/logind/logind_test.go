// SPDX-License-Identifier: Apache-2.0

package logind_test

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/internal/host/logind"
	standin "github.com/slipway-k8s/slipway/test/logind"
)

func connect(t *testing.T, s *standin.StandIn) *logind.Manager {
	t.Helper()
	m, err := logind.Connect(t.Context(), s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func (c check) preparing(want bool) {
	c.t.Helper()
	if is, err := c.m.Preparing(c.t.Context()); err != nil || is != want {
		c.t.Errorf("preparing: %v, %v", is, err)
	}
}

type check struct {
	t *testing.T
	m *logind.Manager
}

func TestAnInfiniteDelayIsALongOne(t *testing.T) {
	m := connect(t, standin.Start(t, math.MaxInt64))
	if delay, err := m.DelayMax(t.Context()); err != nil || delay != math.MaxInt64 {
		t.Errorf("delay: %v, %v", delay, err)
	}
}

func TestALockDelaysAShutdownUntilItIsClosed(t *testing.T) {
	s := standin.Start(t, time.Hour)
	m := connect(t, s)
	if delay, err := m.DelayMax(t.Context()); err != nil || delay != time.Hour {
		t.Errorf("delay: %v, %v", delay, err)
	}
	check{t, m}.preparing(false)
	lock, err := m.Inhibit(t.Context(), "test", "testing")
	if err != nil {
		t.Fatal(err)
	}
	s.AwaitLocks(1)
	down := s.Shutdown()
	<-m.Changed()
	check{t, m}.preparing(true)
	if _, err := m.Inhibit(t.Context(), "test", "too late"); !errors.Is(err, logind.ErrInProgress) {
		t.Errorf("a lock in the middle of a shutdown: %v", err)
	}
	select {
	case how := <-down:
		t.Errorf("the machine went down with a lock: %s", how)
	default:
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if how := s.AwaitDown(down); how != standin.Released {
		t.Errorf("got %s", how)
	}
}

func TestAShutdownDoesNotWaitForEver(t *testing.T) {
	s := standin.Start(t, time.Millisecond)
	m := connect(t, s)
	lock, err := m.Inhibit(t.Context(), "test", "testing")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if is, err := m.Stopping(t.Context()); is || err != nil {
		t.Errorf("stopping before the shutdown: %v, %v", is, err)
	}
	if how := s.AwaitDown(s.Shutdown()); how != standin.LimitReached {
		t.Errorf("got %s", how)
	}
	if is, err := m.Stopping(t.Context()); !is || err != nil {
		t.Errorf("stopping after the limit: %v, %v", is, err)
	}
	s.CallOff()
	if is, err := m.Stopping(t.Context()); is || err != nil {
		t.Errorf("stopping after it was called off: %v, %v", is, err)
	}
}

func TestAShutdownThatIsCalledOffIsTold(t *testing.T) {
	s := standin.Start(t, time.Hour)
	m := connect(t, s)
	s.Shutdown()
	<-m.Changed()
	s.CallOff()
	<-m.Changed()
	check{t, m}.preparing(false)
}

func TestABusThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	if _, err := logind.Connect(t.Context(), path); err == nil || !strings.HasPrefix(err.Error(), "connect to logind over "+path) {
		t.Errorf("got %v", err)
	}
}

func TestABusThatTurnsThisUserAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	bus, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	go func() { // as dbus-daemon does to users that the machine does not know: it reads, and ends
		conn, err := bus.Accept()
		if err != nil {
			return // the test is over
		}
		_, _ = conn.Read(make([]byte, 1<<10))
		_ = conn.Close()
	}()
	if _, err := logind.Connect(t.Context(), path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the bus turns user %d away", os.Getuid())) {
		t.Errorf("got %v", err)
	}
}
