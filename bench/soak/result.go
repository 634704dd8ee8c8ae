// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/controller"
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
	LimitMiB int    `json:"limitMiB"`
	PeakKiB  int    `json:"peakKiB"`
	Steps    []step `json:"steps"`
	// Broken are promises that the audit log shows to be broken.
	Broken []string `json:"broken,omitempty"`
}

// step is one number of nodes, drained at once; none: the controller is at rest.
type step struct {
	Nodes int `json:"nodes"`
	// AtOnce is how many of them were seen under way at a time.
	AtOnce  int     `json:"atOnce"`
	Seconds float64 `json:"seconds"`
	// MostKiB is the memory of the controller at its most, as seen ten times a second.
	MostKiB int `json:"mostKiB"`
	// Requests are the controller's, by verb; Evictions those of them that are, and
	// Refused those of these that were not accepted.
	Requests  map[string]int `json:"requests"`
	Evictions int            `json:"evictions"`
	Refused   int            `json:"refused"`

	began, ended time.Time
}

// count counts the controller's requests in the step. Its own lease it renews anyway.
func (s *step) count(requests []auditlog.Request) {
	s.Requests = map[string]int{}
	for _, r := range requests {
		if r.User != controller.User || r.Resource == "leases" || r.Began.Before(s.began) || r.Began.After(s.ended) {
			continue
		}
		s.Requests[r.Verb]++
		if r.Resource == "pods" && r.Subresource == "eviction" {
			s.Evictions++
			if r.Code >= 300 {
				s.Refused++
			}
		}
	}
}

func (s step) total() int {
	sum := 0
	for _, n := range s.Requests {
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

func mib(kib int) string { return fmt.Sprintf("%.0f MiB", float64(kib)/1024) }
