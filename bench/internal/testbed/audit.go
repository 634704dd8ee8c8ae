// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Requests returns the requests in the audit log since the last call: all that were answered so far.
func (c *Cluster) Requests(ctx context.Context) (all []auditlog.Request, err error) {
	err = auditlog.Settle(ctx, func(ctx context.Context, name string) error {
		_, err := c.Clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return err
	}, func() ([]auditlog.Request, error) {
		read, err := c.LoggedRequests()
		all = append(all, read...)
		return read, err
	})
	return all, err
}

// LoggedRequests returns the requests since the last call that are in the audit log already.
func (c *Cluster) LoggedRequests() ([]auditlog.Request, error) { return c.tail.Requests(c.AuditLog) }

// Violations reads the rest of the audit log into requests, and returns the invariants that
// these violate. It reads again before it reports a violation: some entries are written late.
func (c *Cluster) Violations(ctx context.Context, requests *[]auditlog.Request, o auditcheck.Options) (violations []string, err error) {
	const tries = 3
	for range tries {
		c.Printf("reading the audit log")
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
