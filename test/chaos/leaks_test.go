// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// spare is how many goroutines more a process may have that has lived long: connections of
// which it has two for a while, and the like. What leaks, leaks with each drain or fault.
const spare = 4

// looks is how many drains a process that has too many may have to come to rest.
const looks = 4

// compareGoroutines looks for leaks when a mode is over: it has nothing go wrong any more,
// and compares those that have lived with others that have just been started. All of them do
// the same drain before.
func (s *stage) compareGoroutines(t *testing.T) {
	t.Helper()
	for _, m := range s.members {
		m.link.Calm()
	}
	s.refresh(t)
	if !s.central {
		young := plan.Nodes - 1
		s.again(s.members[young], syscall.SIGTERM)
		fresh := s.afterDrain(t, young)
		s.compareEldest(t, fresh)
	}
	s.compareControllers(t)
}

// compareControllers checks the controller that has lived longest. Of two one works: the other
// one stands still until this one leads, and is then started anew. A controller ends by itself
// when it has lost its lease, as it may where the API server was away for long.
func (s *stage) compareControllers(t *testing.T) {
	t.Helper()
	old, other := s.members[plan.Controllers], s.members[plan.Controllers+1]
	if err := other.signal(t.Context(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, least := s.leader(t)
	for range looks {
		_, n := s.leader(t)
		least = min(least, n)
	}
	old.mu.Lock()
	starts := old.starts
	old.mu.Unlock()
	s.again(other, syscall.SIGKILL)
	before := s.again(old, syscall.SIGQUIT)
	young, fresh := s.leader(t)
	t.Logf("%s, started %d times, leads and has %d goroutines, one that begins has %d", old.name, starts, least, fresh)
	if least > fresh+spare {
		t.Errorf("these are too many:\n%s", difference(before.Log(), s.again(young, syscall.SIGQUIT).Log()))
	}
}

// compareEldest checks the agent that has lived long.
func (s *stage) compareEldest(t *testing.T, fresh int) {
	t.Helper()
	m, has := s.members[plan.Eldest], s.afterDrain(t, plan.Eldest)
	for i := 0; i < looks && has > fresh+spare; i++ {
		has = s.afterDrain(t, plan.Eldest)
	}
	t.Logf("%s has %d goroutines, one that begins has %d", m.name, has, fresh)
	if has > fresh+spare {
		t.Errorf("these are too many:\n%s",
			difference(s.again(m, syscall.SIGQUIT).Log(), s.again(s.members[plan.Nodes-1], syscall.SIGQUIT).Log()))
	}
}

// again ends the process with a signal; it is started again. SIGQUIT has it print its
// goroutines.
func (s *stage) again(m *member, signal syscall.Signal) *harness.Process {
	m.mu.Lock()
	p := m.process
	m.mu.Unlock()
	p.Signal(signal)
	<-p.Exited()
	return p
}

// afterDrain is how many goroutines the agent of a node has after a drain.
func (s *stage) afterDrain(t *testing.T, node int) int {
	t.Helper()
	s.drain(t, s.nodes[node])
	n, err := s.members[node].metric("go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// leader is the controller that works, as a maintenance shows, and how many goroutines it has
// after that.
func (s *stage) leader(t *testing.T) (*member, int) {
	t.Helper()
	s.maintain(t, []int{plan.Eldest})
	var errs []error
	for i := plan.Controllers; i < plan.Controllers+2; i++ {
		leading, err := s.members[i].metric("slipway_controller_leading")
		if err != nil || leading != 1 {
			errs = append(errs, err) // it may be about to begin
			continue
		}
		n, err := s.members[i].metric("go_goroutines")
		if err != nil {
			t.Fatal(err)
		}
		return s.members[i], n
	}
	t.Fatalf("no controller leads: %v", errors.Join(errs...))
	return nil, 0
}

func (m *member) askMetrics() (*http.Response, error) {
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://"+m.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	// A connection of its own: one that stays would be a goroutine more.
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", m.name, err)
	}
	return response, nil
}

// metric is what the process says of itself.
func (m *member) metric(name string) (int, error) {
	response, err := m.askMetrics()
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", m.name, err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("%s does not say %s", m.name, name)
}

// difference says of which goroutines, by who has started them, there are how many in the
// one dump and the other.
func difference(old, young string) string {
	before, after := sites(old), sites(young)
	var b strings.Builder
	for _, site := range slices.Sorted(maps.Keys(before)) {
		if before[site] > after[site] {
			fmt.Fprintf(&b, "  %3d, %3d: %s\n", before[site], after[site], site)
		}
	}
	return b.String()
}

func sites(dump string) map[string]int {
	found := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(dump))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if site, isSite := strings.CutPrefix(lines.Text(), "created by "); isSite {
			site, _, _ = strings.Cut(site, " in goroutine")
			found[site]++
		}
	}
	return found
}
