// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"
)

// The annotation is held to what Kubernetes 1.37 holds spec.evictionResponders to.
func TestWhichRespondersAPodMayName(t *testing.T) {
	pod := func(responders string) string {
		return fmt.Sprintf("{metadata: {name: p, annotations: {slipway.dev/eviction-responders: %q}}}", responders)
	}
	entries := func(count int) string {
		var all []string
		for i := range count {
			all = append(all, fmt.Sprintf("r%d.example.com/x:20000", i))
		}
		return strings.Join(all, ",")
	}
	const (
		pods, none = "pods", "{metadata: {name: p}}"
		field      = "metadata.annotations[slipway.dev/eviction-responders]: "
		form       = field + "must be NAME:PRIORITY"
		domain     = field + "each name must have a domain"
		own        = field + "names in k8s.io and kubernetes.io are Kubernetes' own"
		priority   = field + "each priority must be from 1000 to 100000"
		changed    = field + "it cannot be changed after the pod was created"
	)
	one := pod("example.com/backup:20000")
	refusals(t, "evictions/responders.yaml", map[string]refused{
		"none":                        {request{alice, pods, "", none}, ""},
		"one":                         {request{alice, pods, "", one}, ""},
		"two":                         {request{alice, pods, "", pod("example.com/backup:20000, example.com/migrate:1000")}, ""},
		"ten":                         {request{alice, pods, "", pod(entries(10))}, ""},
		"eleven":                      {request{alice, pods, "", pod(entries(11))}, field + "there may be 10 responders at most"},
		"nothing":                     {request{alice, pods, "", pod("")}, form},
		"no priority":                 {request{alice, pods, "", pod("example.com/backup")}, form},
		"a priority that is none":     {request{alice, pods, "", pod("example.com/backup:high")}, form},
		"an end without an entry":     {request{alice, pods, "", pod("example.com/backup:20000,")}, form},
		"a low priority":              {request{alice, pods, "", pod("example.com/backup:999")}, priority},
		"a high priority":             {request{alice, pods, "", pod("example.com/backup:100001")}, priority},
		"no domain":                   {request{alice, pods, "", pod("backup:20000")}, domain},
		"a name that is no key":       {request{alice, pods, "", pod("example.com/back up:20000")}, domain},
		"a name of Kubernetes":        {request{alice, pods, "", pod("apps.k8s.io/x:20000")}, own},
		"the domain of Kubernetes":    {request{alice, pods, "", pod("kubernetes.io/x:20000")}, own},
		"a domain that looks like it": {request{alice, pods, "", pod("mak8s.io/x:20000")}, ""},
		"one twice":                   {request{alice, pods, "", pod("a.io/x:20000,a.io/x:30000")}, field + "no responder may be there twice"},
		"a pod that is changed":       {request{alice, pods, one, one}, ""},
		"another, later":              {request{alice, pods, one, pod("example.com/backup:30000")}, changed},
		"one, later":                  {request{alice, pods, none, one}, changed},
		"none, later":                 {request{alice, pods, one, none}, changed},
		"another, in the status":      {request{agentOfA, "pods/status", one, pod("example.com/backup:30000")}, changed},
		"a wrong one that was there":  {request{alice, pods, pod("wrong"), pod("wrong")}, ""},
	})
}
