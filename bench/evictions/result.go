// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// result of a measurement. Memory is in KiB.
type result struct {
	pods               int
	rssAtRest, rssPeak int
	asked, took        time.Duration
	// total counts the controller's requests since the first was asked for, beyond watches;
	// which counts them by what they are, and refused the writes that the server did not take
	// in: somebody else was faster.
	total, refused int
	which          map[string]int
}

// count sorts the controller's requests.
func (r *result) count(requests []auditlog.Request, began time.Time) {
	r.which = map[string]int{}
	for _, request := range requests {
		if request.User != controller.User || request.Began.Before(began) || request.Verb == "watch" {
			continue
		}
		what := request.Verb + " " + request.Resource
		if request.Subresource != "" {
			what += "/" + request.Subresource
		}
		r.which[what]++
		r.total++
		if request.Code >= 400 && request.Verb != "get" {
			r.refused++
		}
	}
}

func (r *result) markdown() string {
	var b bytes.Buffer
	row := func(what, value string) { fmt.Fprintf(&b, "| %s | %s |\n", what, value) }
	row("one controller with `--eviction-requests`", fmt.Sprintf("%d EvictionRequests at once", r.pods))
	row("---", "---")
	row("memory at rest", mib(r.rssAtRest))
	row("memory at its peak", mib(r.rssPeak))
	row("until all were asked for, and until all pods were gone and all requesters told",
		r.asked.Round(100*time.Millisecond).String()+", "+r.took.Round(100*time.Millisecond).String())
	row("requests for an eviction, beyond watches", fmt.Sprintf("%.2f: %s", r.each(r.total), r.kinds()))
	row("writes that somebody else was faster than, and that were made again", strconv.Itoa(r.refused))
	return b.String()
}

// kinds are the requests that there is at least one of for ten evictions.
func (r *result) kinds() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.which)) {
		if each := r.each(r.which[what]); each >= 0.1 {
			parts = append(parts, fmt.Sprintf("%s %.1f", what, each))
		}
	}
	return strings.Join(parts, ", ")
}

func (r *result) each(n int) float64 { return float64(n) / float64(r.pods) }

func mib(kib int) string { return fmt.Sprintf("%.0f MiB", float64(kib)/1024) }
