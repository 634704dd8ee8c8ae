// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shellLibrary: idle does nothing until there is a signal.
const shellLibrary = `ready() { echo ready >"$READY"; }
idle() { exec 3<>"$SILENT"; while :; do read -r _ <&3; done; }
`

// startShell starts a script that has come as far as to say that it is ready.
func startShell(t *testing.T, script string, env ...string) (Identity, string) {
	t.Helper()
	log, pipe, silent := filepath.Join(t.TempDir(), "log"), fifo(t), fifo(t)
	// For both, so that opening it waits for nobody.
	ready, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	started, err := Start(Spec{
		Path: "/bin/sh", Args: []string{"-c", shellLibrary + script},
		Env: append(env, "PATH="+os.Getenv("PATH"), "READY="+pipe, "SILENT="+silent), Dir: t.TempDir(), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Kill(started) })
	if err := ready.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, len("ready\n"))); err != nil {
		content, _ := os.ReadFile(log)
		t.Fatalf("the script did not start: %s, %v", content, err)
	}
	return started, log
}

func TestStopAsksFirst(t *testing.T) {
	started, log := startShell(t, `trap 'echo bye; exit' TERM; ready; idle`)
	if err := Stop(context.Background(), started, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	content, _ := os.ReadFile(log)
	if started.Alive() || !strings.Contains(string(content), "bye") {
		t.Errorf("alive: %t, log: %s", started.Alive(), content)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	started, _ := startShell(t, `trap '' TERM; ready; idle`)
	if err := Stop(context.Background(), started, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if started.Alive() {
		t.Error("the process is still there")
	}
}

func TestSignalSparesAProcessThatGotTheIDLater(t *testing.T) {
	started, _ := startShell(t, `ready; idle`)
	recorded := started
	recorded.Started--
	if err := recorded.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !started.Alive() {
		t.Error("a process was killed that is not the recorded one")
	}
}

func TestStopOfWhatIsGoneIsDone(t *testing.T) {
	started, _ := startShell(t, `ready`)
	for range 2 {
		if err := Stop(context.Background(), started, time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKillStraysFindsGrandchildren(t *testing.T) {
	const marker = "LOCALCLUSTER_TEST=strays-of-this-test"
	// The shell ends at once and leaves its child to init.
	startShell(t, `sleep 1000 & ready`, marker)
	left, err := withEnvironment(marker)
	if err != nil || len(left) == 0 {
		t.Fatalf("found %v, %v; want the sleep that was left behind", left, err)
	}
	if err := KillStrays(marker); err != nil {
		t.Fatal(err)
	}
	if left, err := withEnvironment(marker); err != nil || len(left) > 0 {
		t.Errorf("still there: %v, %v", left, err)
	}
}

func TestStartedProcessHasASessionOfItsOwn(t *testing.T) {
	started, _ := startShell(t, `ready; idle`)
	group, err := syscall.Getpgid(started.PID)
	if err != nil || group != started.PID {
		t.Errorf("process group %d, %v; want its own, %d", group, err, started.PID)
	}
}
