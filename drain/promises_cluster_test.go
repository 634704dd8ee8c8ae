// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// auditTrail is what was read of the API server's audit log, bit by bit.
type auditTrail struct {
	mu       sync.Mutex
	tail     auditlog.Tail
	requests []request
	changes  []auditlog.Request // those by which it is seen whether promises were kept
	marks    int
}

func (a *auditTrail) read(path string) error {
	text, err := a.tail.Next(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		a.requests = append(a.requests, r)
	}
	answered, err := auditlog.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	a.changes = append(a.changes, slices.DeleteFunc(answered, func(r auditlog.Request) bool { return !auditcheck.Wanted(r) })...)
	return nil
}

// requests returns the requests that the server has seen, in the order in which it wrote them down.
func (c *cluster) requests(t *testing.T, wanted func(request) bool) []request {
	t.Helper()
	c.trail.mu.Lock()
	defer c.trail.mu.Unlock()
	if err := c.trail.read(c.auditLog); err != nil {
		t.Fatal(err)
	}
	var all []request
	for _, r := range c.trail.requests {
		if wanted(r) {
			all = append(all, r)
		}
	}
	return all
}

// drains tells the check at the end of the test that a node is drained from now on, which no event says here. The
// parameters are those that an event would have.
func (s *scene) drains(node string, parameters auditcheck.Parameters) {
	s.drained = append(s.drained, auditcheck.Drain{Node: node, Began: time.Now(), Parameters: parameters})
}

// keepsPromises judges, from the audit log, what was evicted in the test.
func (s *scene) keepsPromises() {
	s.t.Helper()
	nodes := slices.Clone(s.nodes)
	for _, d := range s.drained {
		nodes = append(nodes, d.Node)
	}
	changes, err := s.settled()
	if err != nil {
		s.t.Errorf("whether promises were kept: %v", err)
		return
	}
	for _, violation := range auditcheck.Check(changes, auditcheck.Options{Ours: oursInTests, Nodes: nodes, Drains: s.drained}) {
		s.t.Errorf("promise broken: %s", violation)
	}
}

// oursInTests: nobody else evicts here, and nobody else acts as a node through the administrator. The administrator
// itself cordons and deletes for the tests.
func oursInTests(r auditlog.Request) bool {
	return r.Subresource == "eviction" || strings.HasPrefix(r.Impersonated, "system:node:")
}

// settled returns the changes when the log has what was answered so far: when it has a request that is made now.
func (s *scene) settled() ([]auditlog.Request, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	trail := &s.trail
	for {
		trail.mu.Lock()
		trail.marks++
		mark := fmt.Sprintf("audit-mark-%d", trail.marks)
		trail.mu.Unlock()
		if _, err := s.admin.CoreV1().Nodes().Get(ctx, mark, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("ask for a node that does not exist: %w", err)
		}
		if changes, err := trail.with(s.auditLog, mark); changes != nil || err != nil {
			return changes, err
		}
	}
}

// with returns the changes, if the log has the request for an object of that name.
func (a *auditTrail) with(path, mark string) ([]auditlog.Request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.read(path); err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(a.requests) {
		if r.ObjectRef.Name == mark {
			return slices.Clip(a.changes), nil
		}
	}
	return nil, nil
}

// parameters says to the check what a drain may do.
func parameters(r drain.Request) auditcheck.Parameters {
	var p auditcheck.Parameters
	for _, t := range r.Targets {
		target := auditcheck.Target{PodType: string(t.PodType)}
		if t.PodPriority != nil {
			target.PodPriority = new(int64(*t.PodPriority))
		}
		if t.Selector != nil {
			target.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
			requirements, _ := t.Selector.Requirements()
			for _, requirement := range requirements {
				target.PodSelector.MatchLabels[requirement.Key()] = requirement.Values().UnsortedList()[0]
			}
		}
		p.Targets = append(p.Targets, target)
	}
	p.Escalation.DeleteAfter.Duration = r.Escalation.DeleteAfter
	p.Escalation.KillAfter.Duration = r.Escalation.KillAfter
	return p
}
