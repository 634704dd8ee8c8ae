// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// command is a command line of kubectl slipway, as it runs or when it has ended.
type command struct {
	t       *testing.T
	line    string
	process *exec.Cmd
	out     printed
	trouble printed
}

// printed is what a command has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
	more chan struct{}
}

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	return p.text.Write(text)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits until texts are printed, one after the other.
func (p *printed) await(t *testing.T, texts ...string) {
	t.Helper()
	over := time.After(patience)
	for !inTurn(p.String(), texts) {
		select {
		case <-p.more:
		case <-over:
			t.Fatalf("%q is not printed, but:\n%s", texts, p)
		}
	}
}

func inTurn(printed string, texts []string) bool {
	for _, text := range texts {
		_, rest, found := strings.Cut(printed, text)
		if !found {
			return false
		}
		printed = rest
	}
	return true
}

// start starts a command line, as the cluster's administrator.
func start(t *testing.T, env *harness.Env, arguments ...string) *command {
	t.Helper()
	c := &command{t: t, line: strings.Join(arguments, " ")}
	c.out.more, c.trouble.more = make(chan struct{}, 1), make(chan struct{}, 1)
	c.process = exec.Command(harness.Binary(t, "kubectl-slipway"), append([]string{"--kubeconfig=" + env.Facts.Kubeconfig}, arguments...)...)
	c.process.Stdout, c.process.Stderr = &c.out, &c.trouble
	c.process.Env = append(os.Environ(), "KUBECONFIG=")
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is only reached when a test fails.
const patience = 2 * time.Minute

// end waits until it has ended, and wants an exit code.
func (c *command) end(want int) (out, trouble string) {
	c.t.Helper()
	stop := time.AfterFunc(patience, func() { _ = c.process.Process.Kill() })
	defer stop.Stop()
	err := c.process.Wait()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		c.t.Fatal(err)
	}
	if got := c.process.ProcessState.ExitCode(); got != want {
		c.t.Errorf("kubectl slipway %s: exit code %d, want %d; it printed:\n%s%s", c.line, got, want, c.out.String(), c.trouble.String())
	}
	return c.out.String(), c.trouble.String()
}

// signal sends a signal to it.
func (c *command) signal(s os.Signal) {
	c.t.Helper()
	if err := c.process.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// run runs a command line to its end, and wants an exit code.
func run(t *testing.T, env *harness.Env, want int, arguments ...string) (out, trouble string) {
	t.Helper()
	return start(t, env, arguments...).end(want)
}

// wantTexts wants all of the texts in what was printed.
func wantTexts(t *testing.T, printed string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			t.Errorf("%q is not in:\n%s", text, printed)
		}
	}
}
