// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Policy is the audit policy of a log that can be checked.
//
//go:embed policy.yaml
var Policy string

// Options describe the expected contents of the log.
type Options struct {
	// A request is from Slipway if this function returns true. Nil: all requests of service accounts of slipway-system are.
	Ours func(auditlog.Request) bool
	// Nodes limits the check to these nodes. Nil: all.
	Nodes []string
	// Drains are in progress in addition to the drains of events.
	Drains []Drain
	// Cordoned are the nodes that are cordoned by us at the end, and must be: those that
	// were drained and not returned.
	Cordoned []string
	// Unfinished are the events that may be left at the end.
	Unfinished []string
	// Leases is that Slipway takes the lease of each node that it works on.
	Leases bool
	// Tools are users that work on nodes as well: they hold leases by their own names, and
	// write to a Node when they work on it.
	Tools []string
	// Budgets are the NodeAvailabilityBudgets: they limit the nodes that are cordoned by us at a time.
	Budgets []AvailabilityBudget
	// ClocksJump is that the clocks of our processes are set while they run. The server then
	// may refuse the times that they write.
	ClocksJump bool
	// Restarts means that the API server restarts during the test. Until it has read all permissions, it refuses
	// requests that it allowed before.
	Restarts bool
}

// AvailabilityBudget limits how many of the nodes are out of service.
type AvailabilityBudget struct {
	Nodes          []string
	MaxUnavailable int
}

// Check replays the requests and returns the violations, in order. A request that the server refused is no violation,
// except for requests about Evictions.
func Check(requests []auditlog.Request, options Options) []string {
	if options.Ours == nil {
		options.Ours = func(r auditlog.Request) bool {
			return strings.HasPrefix(r.User, "system:serviceaccount:slipway-system:")
		}
	}
	c := &checker{
		options: options, pods: map[string]*pod{}, early: map[string]binding{}, budgets: map[string]*budget{}, rules: map[string]*rule{},
		events: map[string]*event{}, nodes: map[string]*node{}, leases: map[string]*lease{}, evictions: map[string]*evictionObject{},
		maintenances: map[string]*maintenance{}, out: map[string]out{}, jobs: map[string]*job{}, collected: map[string]bool{}, holds: map[string]*hold{}, worked: map[string]string{},
		rights: map[right]bool{}, ranUntil: map[string]time.Time{},
	}
	for _, e := range ordered(requests) {
		c.replay(e.Request)
	}
	c.atTheEnd()
	return c.violations
}

// Wanted reports whether the check has a use for the request: it changed something, or should
// have.
func Wanted(r auditlog.Request) bool {
	reads := r.Verb == "get" || r.Verb == "list" || r.Verb == "watch"
	switch r.Resource {
	case "pods", "poddisruptionbudgets", "drainrules", "lifecycleevents", "nodes", "nodemaintenances", "nodeholds", "jobs":
		return !reads && took(r) && !dry(r)
	case "leases":
		return r.Namespace == leasesOfNodes && !reads && took(r) && !dry(r)
	default:
		return !reads && isOfEvictions(r) && !dry(r)
	}
}

// effective is a request with the time at which the checker replays it.
type effective struct {
	auditlog.Request
	at time.Time
}

// ordered returns the wanted requests, as they took effect. It has each binding twice: other processes see it before
// the scheduler has its answer, and it can begin before the pod's creation is answered.
func ordered(requests []auditlog.Request) []effective {
	var all []effective
	for _, r := range requests {
		if !Wanted(r) {
			continue
		}
		all = append(all, effective{r, effect(r)})
		if r.Subresource == "binding" {
			all = append(all, effective{r, r.Began})
		}
	}
	inVersionOrder(all)
	slices.SortStableFunc(all, func(a, b effective) int { return a.at.Compare(b.at) })
	return all
}

// inVersionOrder has each write of a Node take effect before the writes that build on it: the server may answer those
// first.
func inVersionOrder(all []effective) {
	type write struct {
		*thing
		effective *effective
	}
	byUID := map[string][]write{}
	for i := range all {
		if all[i].Resource != "nodes" {
			continue
		}
		if o := object[thing](all[i].Request); o != nil {
			byUID[o.Metadata.UID] = append(byUID[o.Metadata.UID], write{o, &all[i]})
		}
	}
	for _, writes := range byUID {
		slices.SortStableFunc(writes, func(a, b write) int { return a.compare(b.thing) })
		for i := len(writes) - 2; i >= 0; i-- {
			if next := writes[i+1]; writes[i].olderThan(next.thing) && !writes[i].effective.at.Before(next.effective.at) {
				writes[i].effective.at = next.effective.at.Add(-1)
			}
		}
	}
}

// effect returns the time at which the checker replays the request. Drains heed budgets and rules before their writer
// has its answer, and tools heed the release of a lease as early.
func effect(r auditlog.Request) time.Time {
	if r.Resource == "poddisruptionbudgets" || r.Resource == "drainrules" || givesBack(r) {
		return r.Began
	}
	return r.Ended
}

// checker is the state of the cluster, as the log shows it.
type checker struct {
	options   Options
	pods      map[string]*pod    // by namespace/name
	early     map[string]binding // that began before the creation of their pod was answered, by namespace/name
	budgets   map[string]*budget // by namespace/name
	rules     map[string]*rule   // by namespace/name
	events    map[string]*event  // by group/name
	nodes     map[string]*node
	leases    map[string]*lease          // by node
	evictions map[string]*evictionObject // by resource and namespace/name
	ranUntil  map[string]time.Time       // by the UID of their pod: when the last of them ended

	maintenances map[string]*maintenance // by UID
	out          map[string]out          // by node
	jobs         map[string]*job         // by UID
	collected    map[string]bool         // UIDs of deleted Jobs
	holds        map[string]*hold        // by name
	worked       map[string]string       // Jobs, by node, maintenance and number of retries

	rights map[right]bool     // that the server has let us make use of
	denied []auditlog.Request // for want of a right, by a server that may not have read it yet

	violations []string
}

func (c *checker) violated(r auditlog.Request, format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf("%s: ", r)+fmt.Sprintf(format, args...))
}

func (c *checker) left(format string, args ...any) {
	c.violations = append(c.violations, "at the end: "+fmt.Sprintf(format, args...))
}

// replay takes in one request that is wanted.
func (c *checker) replay(r auditlog.Request) {
	switch {
	case r.Resource == "pods" && r.Subresource == "eviction":
		c.evicted(r)
	case r.Resource == "pods" && r.Subresource == "binding":
		c.bound(r)
	case r.Resource == "pods" && deletes(r):
		c.podDeleted(r)
	case r.Resource == "pods":
		c.podWritten(r)
	case r.Resource == "poddisruptionbudgets" && deletes(r):
		c.budgetDeleted(r)
	case r.Resource == "poddisruptionbudgets":
		c.budgetWritten(r)
	case r.Resource == "drainrules":
		c.ruleWritten(r)
	case r.Resource == "lifecycleevents":
		c.eventWritten(r)
	case r.Resource == "leases":
		c.leaseWritten(r)
	case r.Resource == "nodes":
		c.nodeWritten(r)
	case r.Resource == "nodemaintenances":
		c.maintenanceWritten(r)
	case r.Resource == "nodeholds":
		c.holdWritten(r)
	case r.Resource == "jobs":
		c.jobWritten(r)
	case isOfEvictions(r):
		c.evictionWritten(r)
	}
}

// watched reports whether the node is one of those that are checked.
func (c *checker) watched(node string) bool {
	return c.options.Nodes == nil || slices.Contains(c.options.Nodes, node)
}
