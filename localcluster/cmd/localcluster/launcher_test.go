// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// facts is the part of the launcher's answer that the tests look at.
type facts struct {
	Dir, State, Version, Server           string
	Kubeconfig, CAFile, AuditLog, Kubectl string
	Nodes                                 []string
	Components                            []struct {
		Name string
		PID  int
	}
}

// launcher is the compiled program under test.
type launcher struct {
	t    *testing.T
	path string
}

// programs is a directory that goes when all tests have run.
var programs string

// compiled is the launcher, compiled once for all tests.
var compiled = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "localcluster")
	compile := exec.Command("go", "build", "-o", path, ".")
	compile.Stderr = os.Stderr
	return path, compile.Run()
})

func TestMain(m *testing.M) {
	os.Exit(inTemporaryDirectory(m.Run))
}

func inTemporaryDirectory(run func() int) int {
	dir, err := os.MkdirTemp("", "localcluster-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the tests:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	return run()
}

func newLauncher(t *testing.T) *launcher {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real control plane: not with -short")
	}
	path, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	l := &launcher{t: t, path: path}
	build := l.command("build")
	build.Stderr = os.Stderr // minutes, perhaps: progress at once and not at the end
	if err := build.Run(); err != nil {
		t.Fatal("the control plane cannot be built:", err)
	}
	return l
}

func (l *launcher) command(args ...string) *exec.Cmd { return exec.Command(l.path, args...) }

// run returns what the launcher prints; a failure ends the test.
func (l *launcher) run(input string, args ...string) string {
	l.t.Helper()
	command := l.command(args...)
	var complaints bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(input), &complaints
	output, err := command.Output()
	if err != nil {
		l.t.Fatalf("localcluster %s: %v\n%s", strings.Join(args, " "), err, &complaints)
	}
	return string(output)
}

func (l *launcher) json(result any, args ...string) {
	l.t.Helper()
	output := l.run("", args...)
	if err := json.Unmarshal([]byte(output), result); err != nil {
		l.t.Fatalf("localcluster %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

func (l *launcher) kubectl(dir, input string, args ...string) string {
	l.t.Helper()
	return l.run(input, append([]string{"kubectl", "--dir", dir, "--"}, args...)...)
}

// held is a cluster that lives as long as its launcher's standard input.
type held struct {
	command *exec.Cmd
	input   io.Closer
	output  *bufio.Reader
}

func (l *launcher) hold(t *testing.T, dir string) *held {
	t.Helper()
	command := l.command("run", "--dir", dir, "--nodes", "1")
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close(); _ = command.Wait() })
	return &held{command: command, input: input, output: bufio.NewReader(output)}
}

func (h *held) ready(t *testing.T) facts {
	t.Helper()
	var ready facts
	if err := json.Unmarshal(readLine(t, h.output), &ready); err != nil {
		t.Fatal(err)
	}
	return ready
}

func (h *held) letGo(t *testing.T) {
	t.Helper()
	if err := h.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.command.Wait(); err != nil {
		t.Errorf("localcluster run: %v", err)
	}
}
