// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program under test.
type Process struct {
	t       *testing.T
	name    string
	added   []string // to the environment
	command *exec.Cmd
	exited  chan struct{}

	printed Observed
	log     bytes.Buffer
}

// StartProcess runs a program until it is killed, or the test ends. A test that fails shows its log: only the end if
// go test keeps artifacts, which then have the whole log.
func StartProcess(t *testing.T, name string, environment []string, path string, arguments ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: name, added: environment, exited: make(chan struct{})}
	p.command = exec.Command(path, arguments...)
	p.command.Env = append(os.Environ(), environment...)
	// Ctrl-C is for this process alone. If this process dies, the program does, too.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, in := io.Pipe()
	p.command.Stdout, p.command.Stderr = in, in
	if err := p.command.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(out) })
	go func() {
		defer close(p.exited)
		_ = p.command.Wait() // its exit code is of no interest: tests kill it
		_ = in.Close()
		reading.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if strings.Contains(p.Log(), "WARNING: DATA RACE") {
			t.Errorf("%s has a data race", name)
		}
		if t.Failed() {
			p.showLog()
		}
	})
	return p
}

// Again starts the same program once more, with the same credentials: without any API server, too.
func (p *Process) Again() *Process {
	p.t.Helper()
	return StartProcess(p.t, p.name, p.added, p.command.Path, p.command.Args[1:]...)
}

func (p *Process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.printed.Change(func() { p.log.WriteString(lines.Text() + "\n") })
	}
}

// Log returns the output of the program.
func (p *Process) Log() (text string) {
	p.printed.Look(func() { text = p.log.String() })
	return text
}

// AwaitLog waits until the program has printed the text.
func (p *Process) AwaitLog(text string) {
	p.t.Helper()
	if !p.printed.Await(p.exited, func() bool { return strings.Contains(p.log.String(), text) }) {
		p.t.Fatalf("%s did not print %q, or ended before", p.name, text)
	}
}

// AwaitLast waits until the program has printed the text, and not the other one after it.
func (p *Process) AwaitLast(text, other string) {
	p.t.Helper()
	if !p.printed.Await(p.exited, func() bool {
		log := p.log.String()
		return strings.LastIndex(log, text) > strings.LastIndex(log, other)
	}) {
		p.t.Fatalf("%s did not print %q last, after %q, or ended before", p.name, text, other)
	}
}

// AwaitFaultPoint waits until the program has stopped at the fault point.
func (p *Process) AwaitFaultPoint(point string) {
	p.t.Helper()
	p.AwaitLog("fault point reached: " + point + "\n")
}

// Release continues a program that has stopped at a fault point.
func (p *Process) Release() { p.Signal(syscall.SIGCONT) }

// Kill kills the program, as kill -9 does, and waits until it has ended.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop asks the program to end, and waits until it has ended.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

func (p *Process) end(signal syscall.Signal) {
	p.Signal(signal)
	<-p.exited
}

// Signal sends a signal, and returns whether the program ran and got it.
func (p *Process) Signal(signal syscall.Signal) bool {
	select {
	case <-p.exited:
		return false
	default:
		return p.command.Process.Signal(signal) == nil // it may have ended meanwhile
	}
}

// PID is the program's process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// AwaitExit waits until the program has ended by itself, and returns its output.
func (p *Process) AwaitExit() string {
	p.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		p.t.Fatalf("%s has not ended", p.name)
	}
	return p.Log()
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// shownLines is the number of last lines of a program's log that a failed test shows. More would bury the test's own
// message.
const shownLines = 50

// logsVar names the folder that keeps whole logs of programs whose test has failed. The folder of go test -artifacts would
// hide the reason of a failure: gotestsum 1.13 drops the output of a test before its first use of that folder.
const logsVar = "SLIPWAY_LOGS"

// showLog shows the log of a program whose test has failed.
func (p *Process) showLog() {
	p.t.Helper()
	log := p.Log()
	lines := strings.SplitAfter(log, "\n")
	dir := os.Getenv(logsVar)
	if len(lines) <= shownLines || dir == "" {
		p.t.Logf("log of %s:\n%s", p.name, log)
		return
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.log", strings.ReplaceAll(p.name, "/", "-"), p.command.Process.Pid))
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		p.t.Logf("log of %s (it cannot be kept: %v):\n%s", p.name, err, log)
		return
	}
	p.t.Logf("log of %s, the end of %s:\n%s", p.name, path, strings.Join(lines[len(lines)-shownLines:], ""))
}
