// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// result of a measurement. Memory is in KiB.
type result struct {
	rssAtRest, rssPeak int
	drain              time.Duration
	// atRest, evictions, events, watches and others count requests: at rest, all but
	// watches; the rest of them during the drain.
	atRest, evictions, events, watches, others int
	which                                      map[string]int
}

// count sorts the agent's requests.
func (r *result) count(requests []auditlog.Request, restBegan, drainBegan time.Time) {
	r.which = map[string]int{}
	for _, request := range requests {
		if request.User != agentUser || request.Began.Before(restBegan) {
			continue
		}
		isWatch := request.Verb == "watch" || strings.Contains(request.URI, "watch=true")
		switch {
		case request.Began.Before(drainBegan):
			if !isWatch {
				r.atRest++
			}
		case isWatch:
			r.watches++
		case request.Subresource == "eviction":
			r.evictions++
		case request.Resource == "events" && request.Group == "":
			r.events++
		default:
			r.others++
			what := request.Verb + " " + request.Resource
			if request.Subresource != "" {
				what += "/" + request.Subresource
			}
			r.which[what]++
		}
	}
}

func (r *result) markdown(s settings) string {
	var b bytes.Buffer
	row := func(what, value string) { fmt.Fprintf(&b, "| %s | %s |\n", what, value) }
	row("one node-agent with the drain driver built in", fmt.Sprintf("on a node with %d pods", s.pods))
	row("---", "---")
	row("memory at rest", mib(r.rssAtRest))
	row("memory at its peak, in a drain of all pods", mib(r.rssPeak))
	row(fmt.Sprintf("requests at rest, in %s, beyond open watches", s.rest), strconv.Itoa(r.atRest))
	row("evictions in that drain", strconv.Itoa(r.evictions))
	row("core Events in that drain", strconv.Itoa(r.events))
	row("other requests in that drain, beyond watches", strconv.Itoa(r.others))
	row("that drain took", r.drain.Round(100*time.Millisecond).String())
	return b.String()
}

func mib(kib int) string { return fmt.Sprintf("%.0f MiB", float64(kib)/1024) }
