// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"testing"
)

// surgePod is a pod with such labels, annotations and owners, and with more in its metadata
// and spec.
type surgePod struct{ labels, annotations, owners, metadata, spec string }

func (p surgePod) String() string {
	return fmt.Sprintf("{metadata: {name: any, labels: {%s}, annotations: {%s}, ownerReferences: [%s]%s}, spec: {nodeName: a%s}}",
		p.labels, p.annotations, p.owners, p.metadata, p.spec)
}

func TestWhatTheControllerWritesOfPods(t *testing.T) {
	const (
		pods       = "pods"
		set        = "{apiVersion: apps/v1, kind: ReplicaSet, name: web-6d5b, uid: r, controller: true}"
		stateful   = "{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: s, controller: true}"
		deployment = "{apiVersion: apps/v1, kind: Deployment, name: web, uid: d}"
		both       = set + ", " + deployment
		marks      = "slipway.dev/surge-template-hash: 6d5b, slipway.dev/surge-released-at: now, slipway.dev/surge-unready: '0'"
		gone       = "app: web, pod-template-hash: 6d5b-released, slipway.dev/surge-released: 'true'"
		back       = "app: web, pod-template-hash: 6d5b, slipway.dev/surge-released: 'true'"

		labels, owners = "metadata.labels: the controller", "metadata.ownerReferences: the controller"
		hash           = "metadata.labels: of pod-template-hash"
		annotations    = "metadata.annotations: the controller"
	)
	kept := surgePod{labels: "app: web, pod-template-hash: 6d5b", owners: set}
	released := surgePod{labels: gone, annotations: marks, owners: both}
	orphan := surgePod{labels: gone, annotations: marks, owners: deployment} // the ReplicaSet has let go of it
	returning := surgePod{labels: back, annotations: marks, owners: deployment}
	adopted := surgePod{labels: back, annotations: marks, owners: deployment + ", " + set}
	bare := surgePod{labels: "app: web, pod-template-hash: 6d5b"}
	ofSet := surgePod{labels: "app: web, pod-template-hash: 6d5b", owners: stateful}
	with := func(p surgePod, change func(*surgePod)) string { change(&p); return p.String() }
	cases := map[string]refused{
		"release":              {request{controller, pods, kept.String(), released.String()}, ""},
		"give back":            {request{controller, pods, orphan.String(), returning.String()}, ""},
		"give back at once":    {request{controller, pods, released.String(), with(released, func(p *surgePod) { p.labels = back })}, ""},
		"forget":               {request{controller, pods, adopted.String(), kept.String()}, ""},
		"a user does anything": {request{alice, pods, kept.String(), with(kept, func(p *surgePod) { p.spec = ", hostNetwork: true" })}, ""},
		"change the spec":      {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.spec = ", hostNetwork: true" })}, "spec: the controller"},
		"set a finalizer":      {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.metadata = ", finalizers: [a.com/b]" })}, "metadata.finalizers"},
		"label":                {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.labels += ", tier: db" })}, labels},
		"change a label":       {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.labels = "app: db, pod-template-hash: 6d5b" })}, labels},
		"take a label away":    {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.labels = "pod-template-hash: 6d5b" })}, labels},
		"annotate":             {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.annotations = "a: b" })}, annotations},
		"give responders":      {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.annotations = "slipway.dev/eviction-responders: a.com/b:1000" })}, annotations},
		"take an annotation away": {
			request{controller, pods, with(kept, func(p *surgePod) { p.annotations = "a: b" }), kept.String()}, annotations,
		},
		"take the hash away":                {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.labels = "app: web" })}, labels},
		"give it to another ReplicaSet":     {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.labels = "app: web, pod-template-hash: ffff" })}, hash},
		"release without a mark":            {request{controller, pods, kept.String(), with(released, func(p *surgePod) { p.annotations = "" })}, hash},
		"release with another's mark":       {request{controller, pods, kept.String(), with(released, func(p *surgePod) { p.annotations = "slipway.dev/surge-template-hash: ffff" })}, hash},
		"release what is released":          {request{controller, pods, orphan.String(), with(orphan, func(p *surgePod) { p.labels = "app: web, pod-template-hash: 6d5b-released-released" })}, hash},
		"release what has no hash":          {request{controller, pods, "{metadata: {name: any}, spec: {nodeName: a}}", "{metadata: {name: any, labels: {pod-template-hash: -released}}, spec: {nodeName: a}}"}, hash},
		"give back to another":              {request{controller, pods, orphan.String(), with(returning, func(p *surgePod) { p.labels = "app: web, pod-template-hash: ffff" })}, hash},
		"change the mark":                   {request{controller, pods, orphan.String(), with(orphan, func(p *surgePod) { p.annotations = "slipway.dev/surge-template-hash: ffff" })}, hash},
		"mark what is kept":                 {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.annotations = "slipway.dev/surge-template-hash: ffff" })}, hash},
		"forget what is released":           {request{controller, pods, orphan.String(), with(orphan, func(p *surgePod) { p.annotations = "" })}, hash},
		"forget the owner of a pod without": {request{controller, pods, returning.String(), with(returning, func(p *surgePod) { p.owners = "" })}, owners},
		"take the ReplicaSet away":          {request{controller, pods, kept.String(), with(kept, func(p *surgePod) { p.owners = "" })}, owners},
		"own a pod of nobody":               {request{controller, pods, bare.String(), with(bare, func(p *surgePod) { p.owners = deployment })}, owners},
		"own a pod of a StatefulSet":        {request{controller, pods, ofSet.String(), with(ofSet, func(p *surgePod) { p.owners += ", " + deployment })}, owners},
		"own by something else":             {request{controller, pods, kept.String(), with(released, func(p *surgePod) { p.owners = set + ", {apiVersion: v1, kind: Node, name: a, uid: n}" })}, owners},
		"have two owners more":              {request{controller, pods, kept.String(), with(released, func(p *surgePod) { p.owners = both + ", {apiVersion: apps/v1, kind: Deployment, name: b, uid: e}" })}, owners},
		"own as the controller": {request{controller, pods, kept.String(), with(released, func(p *surgePod) {
			p.owners = "{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}"
		})}, owners},
		"hold up the deletion of a Deployment": {request{controller, pods, kept.String(), with(released, func(p *surgePod) {
			p.owners = set + ", {apiVersion: apps/v1, kind: Deployment, name: web, uid: d, blockOwnerDeletion: true}"
		})}, owners},
	}
	refusals(t, "evictions/surge.yaml", cases)
}
