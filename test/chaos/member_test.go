// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/chaos/link"
	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// failing is how many of 100 requests of each process go wrong.
const failing = 5

// member is a process that is started again whenever it ends, and its link.
type member struct {
	t         *testing.T
	name, dir string
	link      *link.Link
	binary    string
	arguments []string
	metrics   string        // where it says how many goroutines it has
	ended     chan struct{} // closed when it is not started again

	mu      sync.Mutex
	process *harness.Process
	stopped bool
	starts  int
	started chan struct{} // closed and replaced with each start

	clock sync.Mutex // whoever sets it holds it until it is seen to be set
}

// agent is that of a node.
func (s *stage) agent(i int) *member {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	credentials, err := s.env.AgentConfig(ctx, s.nodes[i])
	if err != nil {
		s.t.Fatal(err)
	}
	m := s.member(i, "node-agent", credentials)
	m.arguments = append(m.arguments, "--node-name="+s.nodes[i], "--plugin-registration-path="+m.registrationDir())
	m.run()
	return m
}

func (m *member) dataDir() string         { return filepath.Join(m.dir, "d") }
func (m *member) registrationDir() string { return filepath.Join(m.dir, "r") }

// controller is one of two.
func (s *stage) controller(i int) *member {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	credentials, err := s.env.ControllerConfig(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	m := s.member(i, "controller", credentials)
	m.arguments = append(m.arguments, "--plugin-registration-path="+m.registrationDir(), "--eviction-requests")
	if s.central {
		m.arguments = append(m.arguments, "--builtin-drivers=drain")
	}
	m.run()
	return m
}

func (s *stage) member(i int, binary string, credentials *rest.Config) *member {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "sw") // short: it holds sockets
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := link.Open(credentials, s.plan.Seed+uint64(i), failing)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(l.Close)
	if err := devcluster.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), l.Config(credentials)); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, clockFile), make([]byte, 8), 0o600); err != nil {
		s.t.Fatal(err)
	}
	metrics := harness.FreeAddress(s.t)
	return &member{
		metrics: metrics,
		t:       s.t, name: plan.NameOf(i), dir: dir, link: l, binary: harness.Binary(s.t, binary), ended: make(chan struct{}), started: make(chan struct{}),
		arguments: []string{"--health-probe-bind-address=0", "--metrics-bind-address=" + metrics, "-v=2"},
	}
}

// run starts it, and starts it again when it has ended, until it is stopped.
func (m *member) run() {
	p := m.start()
	go func() {
		defer close(m.ended)
		for p != nil {
			began := time.Now()
			<-p.Exited()
			m.look(p)
			m.backOff(began)
			p = m.start()
		}
	}()
	m.t.Cleanup(m.stop)
}

// backOff waits, as a kubelet does, if the process has ended as soon as it had begun.
func (m *member) backOff(began time.Time) {
	wait := time.NewTimer(time.Until(began.Add(time.Second)))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-m.t.Context().Done():
	}
}

// start starts the process, unless it was stopped, or the test is over: whoever killed it
// then would have the next one to kill, and so on.
func (m *member) start() *harness.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.t.Context().Err() != nil {
		return nil
	}
	environment := []string{"KUBECONFIG=" + filepath.Join(m.dir, "kubeconfig"), "SLIPWAY_CLOCK=" + filepath.Join(m.dir, clockFile), "GOTRACEBACK=all"}
	m.process = harness.StartProcess(m.t, m.name, environment, m.binary, m.arguments...)
	m.starts++
	close(m.started)
	m.started = make(chan struct{})
	return m.process
}

// look looks at how a process has ended: it may have been killed, or have lost its lease.
func (m *member) look(p *harness.Process) {
	for _, trouble := range []string{"panic: ", "fatal error: "} {
		if strings.Contains(p.Log(), trouble) {
			m.t.Errorf("%s has ended with %q", m.name, trouble)
		}
	}
}

// signal sends a signal to the process, or if it has just ended, to the next one.
func (m *member) signal(ctx context.Context, signal syscall.Signal) error {
	for {
		m.mu.Lock()
		sent, started := m.process.Signal(signal), m.started
		m.mu.Unlock()
		if sent {
			return nil
		}
		select {
		case <-started:
		case <-ctx.Done():
			return fmt.Errorf("%s has ended, and was not started again: %w", m.name, context.Cause(ctx))
		}
	}
}

// clockFile says how far the clock of the process is off: internal/platform/faultpoint.
const clockFile = "clock"

// setClock sets its clock, which stays so when it is started again, and says whether it was
// seen to have done so: a process that begins reads it then.
func (m *member) setClock(by time.Duration) (seen bool, err error) {
	m.clock.Lock()
	defer m.clock.Unlock()
	if err := m.writeClock(by); err != nil {
		return false, err
	}
	is, err := m.time()
	if err != nil {
		return false, nil // it does not run, just now
	}
	const slow = 20 * time.Second // of 30 and more
	if off := time.Until(is) - by; off.Abs() > slow {
		return false, fmt.Errorf("the clock of %s is %s off, and should be %s", m.name, time.Until(is), by)
	}
	return true, nil
}

// time is what the process says it is.
func (m *member) time() (time.Time, error) {
	response, err := m.askMetrics()
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}

func (m *member) writeClock(by time.Duration) error {
	file, err := os.OpenFile(filepath.Join(m.dir, clockFile), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(by/time.Second))), 0)
	return err
}

// stop ends it for good.
func (m *member) stop() {
	m.mu.Lock()
	m.stopped = true
	m.process.Signal(syscall.SIGCONT)
	m.process.Signal(syscall.SIGTERM)
	m.mu.Unlock()
	<-m.ended
}
