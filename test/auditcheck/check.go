// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Policy is the audit policy of a log that can be checked.
//
//go:embed policy.yaml
var Policy string

// Options say what is to be expected of the log.
type Options struct {
	// Ours says whether a user is one of ours. Nil: the service accounts of
	// slipway-system.
	Ours func(user string) bool
	// Nodes limits the check to these nodes. Nil: all.
	Nodes []string
	// Cordoned are the nodes that may be cordoned by us at the end: those that were
	// drained and not returned.
	Cordoned []string
	// Unfinished are the events that may be left at the end.
	Unfinished []string
}

// Check replays the requests and returns what broke a promise, in order. Requests
// that the server refused broke none.
func Check(requests []auditlog.Request, options Options) []string {
	if options.Ours == nil {
		options.Ours = func(user string) bool {
			return strings.HasPrefix(user, "system:serviceaccount:slipway-system:")
		}
	}
	ordered := slices.Clone(requests)
	slices.SortStableFunc(ordered, func(a, b auditlog.Request) int { return a.Ended.Compare(b.Ended) })
	c := &checker{options: options, pods: map[string]*pod{}, budgets: map[string]*budget{}, events: map[string]*event{}, nodes: map[string]*node{}}
	for _, r := range ordered {
		if r.Code < 200 || r.Code >= 300 || strings.Contains(r.URI, "dryRun=") {
			continue
		}
		c.replay(r)
	}
	c.atTheEnd()
	return c.violations
}

// checker is the state of the cluster, as far as the log tells it.
type checker struct {
	options    Options
	pods       map[string]*pod    // by namespace/name
	budgets    map[string]*budget // by namespace/name
	events     map[string]*event  // by name
	nodes      map[string]*node
	violations []string
}

func (c *checker) violated(r auditlog.Request, format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf("%s: ", r)+fmt.Sprintf(format, args...))
}

// replay takes in one request that succeeded.
func (c *checker) replay(r auditlog.Request) {
	switch {
	case r.Verb == "get" || r.Verb == "list" || r.Verb == "watch":
	case r.Resource == "pods" && r.Subresource == "eviction":
		c.evicted(r)
	case r.Resource == "pods" && r.Subresource == "binding":
		c.bound(r)
	case r.Resource == "pods":
		c.podWritten(r)
	case r.Resource == "poddisruptionbudgets":
		c.budgetWritten(r)
	case r.Resource == "lifecycleevents":
		c.eventWritten(r)
	case r.Resource == "nodes":
		c.nodeWritten(r)
	}
}

// watched says whether the node is one of those that are checked.
func (c *checker) watched(node string) bool {
	return c.options.Nodes == nil || slices.Contains(c.options.Nodes, node)
}
