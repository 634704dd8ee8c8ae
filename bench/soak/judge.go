// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// tries is how often the log is asked before it is believed that a promise was broken:
// what is written last is in it a moment after it was answered.
const tries = 3

// judge reads the audit log, and says what it has of promises.
type judge struct {
	tail     auditlog.Tail
	requests []auditlog.Request
	marks    int
	// keep says which requests are kept. Nil: all.
	keep func(auditlog.Request) bool
}

// judged reads the rest of the log, and returns the promises that were broken.
func (g *stage) judged(ctx context.Context, j *judge, options auditcheck.Options) (broken []string, err error) {
	for range tries {
		g.say("reading the audit log")
		if err := j.settle(ctx, g); err != nil {
			return nil, err
		}
		if broken = auditcheck.Check(j.requests, options); len(broken) == 0 {
			break
		}
	}
	return broken, nil
}

// settle reads until the log has what was answered so far: until it has a request that is
// made now.
func (j *judge) settle(ctx context.Context, g *stage) error {
	for {
		j.marks++
		mark := fmt.Sprintf("audit-mark-%d", j.marks)
		if _, err := g.clients.CoreV1().Nodes().Get(ctx, mark, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("ask for a node that does not exist: %w", err)
		}
		read, err := j.read(g.cluster.AuditLog)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(read, func(r auditlog.Request) bool { return r.Name == mark }) {
			return nil
		}
	}
}

// read reads what has come since, and keeps what is to be kept.
func (j *judge) read(log string) ([]auditlog.Request, error) {
	text, err := j.tail.Next(log)
	if err != nil {
		return nil, err
	}
	read, err := auditlog.Read(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	for _, r := range read {
		if j.keep == nil || j.keep(r) {
			j.requests = append(j.requests, r)
		}
	}
	return read, nil
}
