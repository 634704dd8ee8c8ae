// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// EvictionsSince are those of [Node.Evictions] that were asked for at the given time or
// later.
func (n *Node) EvictionsSince(t time.Time) []auditlog.Request {
	n.t.Helper()
	return slices.DeleteFunc(n.Evictions(), func(r auditlog.Request) bool { return r.Began.Before(t) })
}
