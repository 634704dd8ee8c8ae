// SPDX-License-Identifier: Apache-2.0

package testbed

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

// Requests returns the requests in the audit log since the last call: all that were answered
// so far. The API server writes the log a moment after its answer, so Requests makes a request
// of its own and reads until the log has it.
func (c *Cluster) Requests(ctx context.Context) ([]auditlog.Request, error) {
	c.marks++
	mark := fmt.Sprintf("audit-mark-%d", c.marks)
	if _, err := c.Clients.CoreV1().Nodes().Get(ctx, mark, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get a node that does not exist: %w", err)
	}
	var all []auditlog.Request
	for ctx.Err() == nil {
		read, err := c.LoggedRequests()
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
		if slices.ContainsFunc(read, func(r auditlog.Request) bool { return r.Name == mark }) {
			return all, nil
		}
	}
	return nil, context.Cause(ctx)
}

// LoggedRequests returns the requests since the last call that are in the audit log already.
func (c *Cluster) LoggedRequests() ([]auditlog.Request, error) {
	text, err := c.tail.Next(c.AuditLog)
	if err != nil {
		return nil, err
	}
	return auditlog.Read(bytes.NewReader(text))
}

// Violations reads the rest of the audit log into requests, and returns the invariants that
// these violate. It reads again before it reports a violation: some entries are written late.
func (c *Cluster) Violations(ctx context.Context, requests *[]auditlog.Request, o auditcheck.Options) (violations []string, err error) {
	const tries = 3
	for range tries {
		c.Say("reading the audit log")
		more, err := c.Requests(ctx)
		if err != nil {
			return nil, err
		}
		*requests = append(*requests, more...)
		if violations = auditcheck.Check(*requests, o); len(violations) == 0 {
			break
		}
	}
	return violations, nil
}
