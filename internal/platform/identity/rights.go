// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Agent is what a preflight has to know of an agent.
type Agent struct {
	// NodeName is its node.
	NodeName string
	// Group is the API group of LifecycleEvents.
	Group string
	// As is as whom it acts on its node.
	As ActAs
	// Drains says whether the drain driver is built in.
	Drains bool
	// OnlyAnnounces: it is no agent, and only says on its Node, as the node, that the machine
	// is being shut down.
	OnlyAnnounces bool
}

// onAssociatedNode begins the verbs of what a service account may do as its node.
const onAssociatedNode = "impersonate-on:associated-node:"

// right is one thing that a process must be allowed to do.
type right struct {
	verb     string
	group    string
	resource string // with its subresource
	optional bool
}

// String is as in "create pods/eviction as its node".
func (r right) String() string {
	what, subresource, found := strings.Cut(r.resource, "/")
	if r.group != "" {
		what += "." + r.group
	}
	if found {
		what += "/" + subresource
	}
	if verb, asNode := strings.CutPrefix(r.verb, onAssociatedNode); asNode {
		return verb + " " + what + " as its node"
	}
	return r.verb + " " + what
}

// needs are rights to a resource.
func needs(group, resource string, verbs ...string) []right {
	rights := make([]right, len(verbs))
	for i, verb := range verbs {
		rights[i] = right{verb: verb, group: group, resource: resource}
	}
	return rights
}

// neededBy are the rights of an agent: config/rbac, or config/rbac/host.
func neededBy(a Agent) []right {
	if a.OnlyAnnounces {
		return asNode(slices.Concat(needs("", "nodes", "get", "list", "watch"), needs("", "nodes/status", "patch")))
	}
	rights := slices.Concat(
		needs(a.Group, "lifecycleevents", "get", "list", "watch", "patch", "delete"),
		needs(a.Group, "lifecycleevents/status", "update"),
		needs(a.Group, "lifecycletransitions", "get", "list", "watch", "create", "delete"),
	)
	onNode := slices.Concat(
		needs("", "nodes", "get", "list", "watch", "patch"),
		needs("", "nodes/status", "patch"),
		needs("", "events", "create", "patch"),
	)
	if a.Drains {
		rights = slices.Concat(rights,
			needs("policy", "poddisruptionbudgets", "get", "list", "watch"),
			needs(slipwayv1alpha1.GroupVersion.Group, "drainrules", "get", "list", "watch"),
			needs("", "namespaces", "get", "list", "watch"),
			// Without them no pod is left to responders, and none of them is seen at work.
			[]right{
				{verb: "list", group: lifecyclev1alpha1.GroupKubernetes, resource: "evictions", optional: true},
				{verb: "watch", group: lifecyclev1alpha1.GroupKubernetes, resource: "evictions", optional: true},
			},
		)
		onNode = slices.Concat(onNode,
			needs("", "pods", "get", "list", "watch"),
			needs("", "pods/eviction", "create"),
			needs("", "persistentvolumeclaims", "get"),
			needs("", "persistentvolumes", "get"),
			// Without it no budget can be overridden, which an administrator may want.
			[]right{{verb: "delete", resource: "pods", optional: true}},
		)
	}
	if a.As == ActAsSelf {
		return slices.Concat(rights, onNode)
	}
	return append(rights, asNode(onNode)...)
}

// asNode are the rights to do something as the node.
func asNode(onNode []right) []right {
	rights := []right{{verb: "impersonate:associated-node", group: "authentication.k8s.io", resource: "nodes"}}
	for _, r := range onNode {
		r.verb = onAssociatedNode + r.verb
		rights = append(rights, r)
	}
	return rights
}

// notIn are the rights that the rules do not give.
func notIn(rules []authorizationv1.ResourceRule, rights []right) []right {
	return slices.DeleteFunc(slices.Clone(rights), func(r right) bool {
		return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool { return gives(rule, r) })
	})
}

func gives(rule authorizationv1.ResourceRule, r right) bool {
	return len(rule.ResourceNames) == 0 && has(rule.Verbs, r.verb) && has(rule.APIGroups, r.group) && has(rule.Resources, r.resource)
}

func has(of []string, wanted string) bool {
	return slices.Contains(of, wanted) || slices.Contains(of, "*")
}
