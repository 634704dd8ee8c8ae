// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// headless names the pipe on which this program, started once more, says that its first
// thread has ended.
const headless = "SLIPWAY_TEST_HEADLESS"

// What initialises a program runs on its first thread.
func init() { //nolint:gochecknoinits // nothing else is on that thread for sure
	if pipe := os.Getenv(headless); pipe != "" {
		go tellWhenHeadless(pipe)
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

func tellWhenHeadless(pipe string) {
	for {
		if _, s, err := observe(os.Getpid()); err == nil && s.State == "Z" {
			break
		}
		runtime.Gosched()
	}
	_ = os.WriteFile(pipe, []byte("!"), 0)
	select {}
}

// startHeadless starts a process without its first thread.
func startHeadless(t *testing.T, env ...string) Identity {
	t.Helper()
	pipe, err := os.OpenFile(fifo(t), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started, err := Start(Spec{Path: self, Env: append(env, headless+"="+pipe.Name()), Dir: t.TempDir(), Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Kill(started) })
	if err := pipe.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return started
}

// The API server's first thread was seen to end half a second before its connections did.
func TestAProcessIsAliveUntilItsLastThreadHasEnded(t *testing.T) {
	started := startHeadless(t)
	if !started.Alive() {
		t.Error("it has threads, and counts as gone")
	}
	if err := Kill(started); err != nil || started.Alive() {
		t.Errorf("alive: %t, %v", started.Alive(), err)
	}
}

func TestKillStraysFindsOneWithoutItsFirstThread(t *testing.T) {
	const marker = "LOCALCLUSTER_TEST=headless-of-this-test"
	started := startHeadless(t, marker)
	if err := KillStrays(marker); err != nil || started.Alive() {
		t.Errorf("alive: %t, %v", started.Alive(), err)
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
