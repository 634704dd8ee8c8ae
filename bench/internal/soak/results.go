// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Results has the measurements of Scale.
type Results struct {
	Scenario   string            `json:"scenario"`
	Conditions report.Conditions `json:"conditions"`
	Nodes      int               `json:"nodes"`
	Pods       int               `json:"pods"`
	// LimitMiB limits the memory of the controller; PeakKiB is its peak.
	LimitMiB int `json:"limitMiB"`
	PeakKiB  int `json:"peakKiB"`
	// Rest is the controller at rest, by how many nodes there are, the last time with their pods.
	Rest []atRest `json:"rest,omitempty"`
	// Steps has a step for each number of nodes that the controller drained; in the first, no node.
	Steps []step `json:"steps"`
	// Agents has the measurements of many agents in one process, instead of the controller.
	Agents *fleet `json:"agents,omitempty"`
	// Broken are invariants that the audit log shows to be violated.
	Broken []string `json:"broken,omitempty"`
}

// fleet is many agents in one process: at rest, by how many there are, and while all nodes of a step
// are drained at once.
type fleet struct {
	Rest  []atRest `json:"rest"`
	Steps []step   `json:"steps"`
}

// period is a time in which something was measured.
type period struct {
	Seconds float64 `json:"seconds"`
	// MostKiB is the memory of the process at its most, from the kernel's count.
	MostKiB int `json:"mostKiB"`
	// Requests counts the requests of Slipway, by verb, without requests about its own lease.
	Requests map[string]int `json:"requests"`
	// Used is the use of resources by the process and the control plane.
	Used *meter.Used `json:"used,omitempty"`

	began, ended time.Time
}

// atRest is a process that gets no requests.
type atRest struct {
	// Size is the number of nodes, or of agents; Pods is the number of pods in the cluster.
	Size int `json:"size"`
	Pods int `json:"pods"`
	period
}

// step is a number of nodes, drained at once. 0: the controller is at rest.
type step struct {
	Nodes int `json:"nodes"`
	// AtOnce is the greatest number of them that were seen in work at a time.
	AtOnce int `json:"atOnce"`
	period
	// Evictions are the requests that are, and Refused those of these that were not accepted.
	Evictions int `json:"evictions"`
	Refused   int `json:"refused"`
}

// used returns the use of resources by the controller in each period with a measurement.
func (r Results) used() (all []*meter.Used) {
	for _, rest := range r.Rest {
		all = append(all, rest.Used)
	}
	for _, s := range r.Steps {
		all = append(all, s.Used)
	}
	return slices.DeleteFunc(all, func(u *meter.Used) bool { return u == nil })
}

// count counts the requests of all periods.
func (r *Results) count(requests []auditlog.Request) {
	count := func(rest []atRest, steps []step, user string) {
		for i := range rest {
			rest[i].count(requests, user)
		}
		for i := range steps {
			steps[i].Evictions, steps[i].Refused = steps[i].count(requests, user)
		}
	}
	count(r.Rest, r.Steps, testbed.ControllerUser)
	if r.Agents != nil {
		count(r.Agents.Rest, r.Agents.Steps, testbed.AgentUser)
	}
}

// count counts the requests of a user in that time. It leaves out leases, by which controllers elect a leader.
func (m *period) count(requests []auditlog.Request, user string) (evictions, refused int) {
	m.Requests = map[string]int{}
	for _, r := range requests {
		if r.User != user || r.Resource == "leases" || r.Began.Before(m.began) || r.Began.After(m.ended) {
			continue
		}
		m.Requests[r.Verb]++
		if r.Resource == "pods" && r.Subresource == "eviction" {
			evictions++
			if r.Code >= 300 {
				refused++
			}
		}
	}
	return evictions, refused
}

func (m *period) total() (sum int) {
	for _, n := range m.Requests {
		sum += n
	}
	return sum
}

// Held returns an error for each exceeded limit.
func (r Results) Held() error {
	var errs []error
	if r.PeakKiB > r.LimitMiB*1024 {
		errs = append(errs, fmt.Errorf("the controller has taken %s; it may take %d MiB", report.MiB(r.PeakKiB), r.LimitMiB))
	}
	if len(r.Broken) > 0 {
		errs = append(errs, fmt.Errorf("%s\n%s", report.Kept(r.Broken), strings.Join(r.Broken, "\n")))
	}
	return errors.Join(errs...)
}
