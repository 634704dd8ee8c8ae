// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
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

	mu      sync.Mutex
	log     bytes.Buffer
	changed chan struct{} // closed, and made anew, with each line of the log
}

// StartProcess runs a program until it is killed, or the test ends. If the test fails, its log
// is shown: the end of it only where go test keeps artifacts, the whole being among these.
func StartProcess(t *testing.T, name string, environment []string, path string, arguments ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: name, added: environment, exited: make(chan struct{}), changed: make(chan struct{})}
	p.command = exec.Command(path, arguments...)
	p.command.Env = append(os.Environ(), environment...)
	// A Ctrl-C is for this process alone. Should it die, so does the program: nothing
	// is left behind.
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
		_ = p.command.Wait() // how it ended is of no interest: tests kill it
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
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// Log is what the program has printed.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// AwaitLog waits until the program has printed the text.
func (p *Process) AwaitLog(text string) {
	p.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		p.mu.Lock()
		found, changed := strings.Contains(p.log.String(), text), p.changed
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-p.exited:
			p.t.Fatalf("%s ended before it said %q", p.name, text)
		case <-deadline.C:
			p.t.Fatalf("%s did not say %q", p.name, text)
		}
	}
}

// AwaitFaultPoint waits until the program has stopped at the fault point.
func (p *Process) AwaitFaultPoint(point string) {
	p.t.Helper()
	p.AwaitLog("fault point reached: " + point + "\n")
}

// Release lets a program that has stopped at a fault point go on.
func (p *Process) Release() { p.Signal(syscall.SIGCONT) }

// Kill ends the program at once, as kill -9 does, and waits until it has gone.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop asks the program to end, and waits until it has.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

func (p *Process) end(signal syscall.Signal) {
	p.Signal(signal)
	<-p.exited
}

// Signal sends a signal, and says whether the program was there to get it.
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
