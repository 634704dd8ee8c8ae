// SPDX-License-Identifier: Apache-2.0

package logind

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const busConfig = `<busconfig>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
`

// Ending is the reason for the end of a shutdown.
type Ending string

// The endings.
const (
	// Released: the last lock was closed.
	Released Ending = "released"
	// LimitReached: the delay was over while there was a lock.
	LimitReached Ending = "limit reached"
)

// StandIn plays logind.
type StandIn struct {
	// Socket is the socket of the bus.
	Socket string

	t    *testing.T
	conn *dbus.Conn

	mu       sync.Mutex
	delay    time.Duration
	locks    int
	changed  chan struct{} // closed and replaced with each change of locks
	shutdown *shutdown     // that has begun
}

// shutdown is one that has begun.
type shutdown struct {
	limit *time.Timer
	down  chan Ending
	over  bool
}

// Missing names the missing program for a stand-in, or is empty.
func Missing() string {
	if _, err := exec.LookPath(busProgram); err != nil {
		return "tests of shutdowns need " + busProgram + " (Debian: dbus-daemon): " + err.Error()
	}
	return ""
}

const busProgram = "dbus-daemon"

// Start starts a bus with a logind whose locks may delay a shutdown for that time. It skips the test on a machine
// without a bus.
func Start(t *testing.T, delay time.Duration) *StandIn {
	t.Helper()
	if missing := Missing(); missing != "" {
		t.Skip("missing: " + missing)
	}
	dir, err := os.MkdirTemp("", "ld") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &StandIn{Socket: filepath.Join(dir, "bus"), t: t, delay: delay, changed: make(chan struct{})}
	s.startBus(filepath.Join(dir, "bus.conf"))
	s.serve()
	return s
}

// startBus runs a bus until the test ends, and returns when it listens.
func (s *StandIn) startBus(config string) {
	s.t.Helper()
	if err := os.WriteFile(config, fmt.Appendf(nil, busConfig, s.Socket), 0o600); err != nil {
		s.t.Fatal(err)
	}
	bus := exec.Command(busProgram, "--nofork", "--print-address", "--config-file="+config)
	bus.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := bus.StdoutPipe()
	if err == nil {
		err = bus.Start()
	}
	if err != nil {
		s.t.Fatal("start the bus:", err)
	}
	s.t.Cleanup(func() {
		_ = bus.Process.Kill()
		_ = bus.Wait() // it was killed
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.t.Fatal("the bus did not start:", err)
	}
}

// serve takes the names of logind and systemd, and answers calls until the test ends.
func (s *StandIn) serve() {
	s.t.Helper()
	conn, err := dbus.Connect("unix:path=" + s.Socket)
	if err != nil {
		s.t.Fatal(err)
	}
	s.conn = conn
	for _, name := range []string{service, systemd} {
		if _, err := conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil {
			s.t.Fatal(err)
		}
	}
	// The handler closes the file of a lock after sending it, so it answers calls itself.
	calls := make(chan *dbus.Message, 64)
	conn.Eavesdrop(calls)
	var answering sync.WaitGroup
	answering.Go(func() {
		for call := range calls { // closed with the connection
			s.answer(call)
		}
	})
	s.t.Cleanup(func() {
		_ = conn.Close()
		answering.Wait()
	})
}

// lock makes a lock, and watches for its end. It returns the end that the holder gets.
func (s *StandIn) lock() (*os.File, error) {
	held, given, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.count(1)
	s.mu.Unlock()
	go func() { // ends with the last process that has the other end open
		_, _ = io.Copy(io.Discard, held)
		_ = held.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(-1)
		if s.locks == 0 && s.shutdown != nil {
			s.shutdown.end(Released)
		}
	}()
	return given, nil
}

// count records locks that come and go. s.mu is held.
func (s *StandIn) count(more int) {
	s.locks += more
	close(s.changed)
	s.changed = make(chan struct{})
}

func (d *shutdown) end(how Ending) {
	if !d.over {
		d.over = true
		d.limit.Stop()
		d.down <- how
	}
}
