// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// start runs a keeper. It returns when somebody can connect, and ends it with stop.
func start(t *testing.T) (path string, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "kp") // short: it is a socket's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "keeper")
	return path, run(t, path)
}

func run(t *testing.T, path string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, path) }()
	for { // until it listens, which nothing shows
		if conn, err := net.Dial(network, path); err == nil {
			_ = conn.Close()
			break
		}
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// lock is a file, and what is told when nobody has it open any more.
func lock(t *testing.T) (*os.File, <-chan struct{}) {
	t.Helper()
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		_, _ = io.Copy(io.Discard, reading)
		_ = reading.Close()
	}()
	return writing, released
}

func connect(t *testing.T, path string) (*Conn, *os.File) {
	t.Helper()
	c, file, err := Connect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c, file
}

func isOpen(t *testing.T, what string, released <-chan struct{}) {
	t.Helper()
	select {
	case <-released:
		t.Fatalf("%s: the lock was released", what)
	default:
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestALockOutlivesWhoeverTookIt(t *testing.T) {
	path, stop := start(t)
	defer stop()
	first, none := connect(t, path)
	if none != nil {
		t.Fatal("a keeper that was given nothing has a lock")
	}
	file, released := lock(t)
	must(t, first.Keep(file))
	must(t, file.Close())
	first.Close()
	isOpen(t, "after it was taken", released)
	for range 2 { // and again
		second, handed := connect(t, path)
		if handed == nil {
			t.Fatal("the keeper has no lock")
		}
		must(t, handed.Close())
		second.Close()
		isOpen(t, "after it was handed on", released)
	}
	last, handed := connect(t, path)
	defer last.Close()
	must(t, last.Drop())
	isOpen(t, "while it is held here", released)
	must(t, handed.Close())
	<-released
}

func TestANewLockReplacesTheOneBefore(t *testing.T) {
	path, stop := start(t)
	c, _ := connect(t, path)
	defer c.Close()
	file, released := lock(t)
	other, otherReleased := lock(t)
	must(t, c.Keep(file))
	must(t, c.Keep(other))
	must(t, file.Close())
	must(t, other.Close())
	<-released
	isOpen(t, "the other", otherReleased)
	stop()
	<-otherReleased
	<-c.Gone()
}

func TestAKeeperThatIsBackHasNothing(t *testing.T) {
	path, stop := start(t)
	c, _ := connect(t, path)
	file, released := lock(t)
	must(t, c.Keep(file))
	stop()
	<-c.Gone()
	if err := c.Keep(file); err == nil {
		t.Error("a keeper that has gone takes a lock")
	}
	isOpen(t, "while it is held here", released)
	stop = run(t, path)
	defer stop()
	again, none := connect(t, path)
	defer again.Close()
	if none != nil {
		t.Error("it has a lock")
	}
	must(t, again.Keep(file))
	must(t, file.Close())
	isOpen(t, "at the new one", released)
}

func TestNoKeeper(t *testing.T) {
	if _, _, err := Connect(t.Context(), filepath.Join(t.TempDir(), "keeper")); err == nil {
		t.Error("somebody is there")
	}
}

func TestAKeeperThatIsFrozenHasGone(t *testing.T) {
	dir, err := os.MkdirTemp("", "kp")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.ListenUnix(network, &net.UnixAddr{Name: filepath.Join(dir, "keeper"), Net: network})
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		_ = send(conn, none, nil)
		<-t.Context().Done()
		_ = conn.Close()
	}()
	c, held := connect(t, filepath.Join(dir, "keeper"))
	if held != nil {
		t.Error("it has handed over a lock that it does not have")
	}
	c.patience = time.Millisecond
	if err := c.Drop(); err == nil {
		t.Error("it was told, and did not answer")
	}
	<-c.Gone()
}
