// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// results of a soak.
type results struct {
	Scenario   string     `json:"scenario"`
	Conditions conditions `json:"conditions"`
	Nodes      int        `json:"nodes"`
	Pods       int        `json:"pods"`
	// LimitMiB is what the controller may take; PeakKiB what it took at most, from the
	// kernel's own count.
	LimitMiB int `json:"limitMiB"`
	PeakKiB  int `json:"peakKiB"`
	// Rest is the controller at rest, by how many nodes there are, the last time with their pods.
	Rest []atRest `json:"rest,omitempty"`
	// Steps are what the controller drained, the first of them nothing.
	Steps []step `json:"steps"`
	// Agents are what agents take instead of it, many in one process.
	Agents *fleet `json:"agents,omitempty"`
	// Broken are promises that the audit log shows to be broken.
	Broken []string `json:"broken,omitempty"`
}

// fleet is many agents in one process: at rest, by how many there are, and while all nodes of a
// step are drained at once.
type fleet struct {
	Rest  []atRest `json:"rest"`
	Steps []step   `json:"steps"`
}

// measured is what is known of each time in which something was measured.
type measured struct {
	Seconds float64 `json:"seconds"`
	// MostKiB is the memory of the process at its most, as seen ten times a second.
	MostKiB int `json:"mostKiB"`
	// Requests are those of Slipway, by verb, but for those about its own lease.
	Requests map[string]int `json:"requests"`
	// Used is what the process and the control plane used. Nil in results of before it was measured.
	Used *meter.Used `json:"used,omitempty"`

	began, ended time.Time
}

// atRest is a process that nothing is asked of.
type atRest struct {
	// Size is how many nodes there are, or agents; Pods how many are in the cluster.
	Size int `json:"size"`
	Pods int `json:"pods"`
	measured
}

// step is one number of nodes, drained at once; none: the controller is at rest.
type step struct {
	Nodes int `json:"nodes"`
	// AtOnce is how many of them were seen under way at a time.
	AtOnce int `json:"atOnce"`
	measured
	// Evictions are the requests that are, and Refused those of these that were not accepted.
	Evictions int `json:"evictions"`
	Refused   int `json:"refused"`
}

// count counts the requests of a user in that time. Leases are those by which a controller says that it
// is the leader.
func (m *measured) count(requests []auditlog.Request, user string) {
	m.Requests = map[string]int{}
	for _, r := range requests {
		if m.has(r, user) {
			m.Requests[r.Verb]++
		}
	}
}

func (m *measured) has(r auditlog.Request, user string) bool {
	return r.User == user && r.Resource != "leases" && !r.Began.Before(m.began) && !r.Began.After(m.ended)
}

// count counts the requests in the step, and which of them are evictions.
func (s *step) count(requests []auditlog.Request, user string) {
	s.measured.count(requests, user)
	for _, r := range requests {
		if r.Resource == "pods" && r.Subresource == "eviction" && s.has(r, user) {
			s.Evictions++
			if r.Code >= 300 {
				s.Refused++
			}
		}
	}
}

func (m *measured) total() int {
	sum := 0
	for _, n := range m.Requests {
		sum += n
	}
	return sum
}

// held says what of the promises did not hold.
func (r results) held() error {
	var errs []error
	if r.PeakKiB > r.LimitMiB*1024 {
		errs = append(errs, fmt.Errorf("the controller has taken %s; it may take %d MiB", mib(r.PeakKiB), r.LimitMiB))
	}
	if len(r.Broken) > 0 {
		errs = append(errs, fmt.Errorf("promises were broken:\n%s", strings.Join(r.Broken, "\n")))
	}
	return errors.Join(errs...)
}

// write writes the results into a file.
func (r results) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// read reads what write has written.
func read(path string) (r results, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

func mib(kib int) string { return fmt.Sprintf("%.0f MiB", float64(kib)/1024) }
