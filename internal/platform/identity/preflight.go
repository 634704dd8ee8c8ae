// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// ErrNoImpersonation means that the API server does not let an agent act as its node, whatever RBAC allows.
var ErrNoImpersonation = errors.New("the API server knows no constrained impersonation, which needs Kubernetes 1.36 or newer " +
	"with the feature gate ConstrainedImpersonation. Without that, run with --act-as=self and apply config/rbac/reduced " +
	"and config/admission/reduced, which is weaker (docs/security.md)")

// Agent has the facts about an agent that determine its permissions.
type Agent struct {
	NodeName string
	// Group is the API group of LifecycleEvents.
	Group string
	// As is the user as which the agent acts on its node.
	As ActAs
	// Drains reports a built-in drain driver.
	Drains bool
	// OnlyAnnounces is for a process that is no agent: as the node, it only announces shutdowns of the machine.
	OnlyAnnounces bool
}

// Preflight checks the permissions of an agent. The error names the missing permissions and the remedy in one line;
// without has the missing permissions that the agent does not require. Preflight checks only service accounts.
func Preflight(ctx context.Context, self, asNode *rest.Config, agent Agent) (without []string, err error) {
	user, err := whoAmI(ctx, self)
	if err != nil || !isServiceAccount(user) {
		return nil, err
	}
	missing, err := missingOf(ctx, self, neededBy(agent))
	if err != nil {
		return nil, err
	}
	var required []string
	for _, p := range missing {
		if p.optional {
			without = append(without, p.String())
		} else {
			required = append(required, p.String())
		}
	}
	if len(required) > 0 {
		return without, fmt.Errorf("missing permissions of %s: %s: kubectl apply %s", user.Username, strings.Join(required, ", "), remedy(agent))
	}
	return without, canAct(ctx, asNode, agent.NodeName)
}

func remedy(a Agent) string {
	switch {
	case a.OnlyAnnounces:
		return "-f config/rbac/host"
	case a.As == ActAsSelf:
		return "-f config/rbac -f config/rbac/reduced"
	default:
		return "-f config/rbac"
	}
}

// missingOf reviews all permissions with one request, and then each that seems to be missing: not every authorizer can
// list its rules.
func missingOf(ctx context.Context, self *rest.Config, needed []permission) ([]permission, error) {
	client, err := authorizationclient.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	// The permissions are for all namespaces; a review is for one.
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault}}
	if rules, err = client.SelfSubjectRulesReviews().Create(ctx, rules, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("read the own permissions from the API server: %w", err)
	}
	var missing []permission
	for _, p := range notIn(rules.Status.ResourceRules, needed) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: p.attributes()}}
		if review, err = client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("read from the API server whether we may %s: %w", p, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, p)
		}
	}
	return missing, nil
}

// canAct reads the Node as the node. RBAC may allow an impersonation that the API server does not know.
func canAct(ctx context.Context, asNode *rest.Config, nodeName string) error {
	if asNode.Impersonate.UserName == "" {
		return nil
	}
	client, err := corev1client.NewForConfig(asNode)
	if err != nil {
		return fmt.Errorf("build the node's client: %w", err)
	}
	_, err = client.Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "impersonate"):
		return fmt.Errorf("act as %s: %w", asNode.Impersonate.UserName, ErrNoImpersonation)
	case err != nil && !apierrors.IsNotFound(err): // the Node may be created later
		return fmt.Errorf("read node %s as itself: %w", nodeName, err)
	}
	return nil
}

// onAssociatedNode begins the verbs of requests that a service account makes as its node.
const onAssociatedNode = "impersonate-on:associated-node:"

type permission struct {
	verb     string
	group    string
	resource string // with its subresource
	optional bool
}

// String returns text such as "create pods/eviction as its node".
func (p permission) String() string {
	resource, subresource, found := strings.Cut(p.resource, "/")
	if p.group != "" {
		resource += "." + p.group
	}
	if found {
		resource += "/" + subresource
	}
	if verb, asNode := strings.CutPrefix(p.verb, onAssociatedNode); asNode {
		return verb + " " + resource + " as its node"
	}
	return p.verb + " " + resource
}

func (p permission) attributes() *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(p.resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: p.verb, Group: p.group, Resource: resource, Subresource: subresource}
}

// need is a group of permissions for one resource.
type need struct {
	group, resource, verbs      string
	asNode, forDrains, optional bool
}

// announcing is config/rbac/host.
var announcing = []need{
	{resource: "nodes", verbs: "get list watch", asNode: true},
	{resource: "nodes/status", verbs: "patch", asNode: true},
}

// draining is config/rbac for an agent, with the API group of LifecycleEvents.
func draining(group string) []need {
	return []need{
		{group: group, resource: "lifecycleevents", verbs: "get list watch patch delete"},
		{group: group, resource: "lifecycleevents/status", verbs: "update"},
		{group: group, resource: "lifecycletransitions", verbs: "get list watch create delete"},
		{group: "policy", resource: "poddisruptionbudgets", verbs: "get list watch", forDrains: true},
		{group: slipwayv1alpha1.GroupVersion.Group, resource: "drainrules", verbs: "get list watch", forDrains: true},
		{group: slipwayv1alpha1.GroupVersion.Group, resource: "freezes", verbs: "get list watch", forDrains: true},
		{resource: "namespaces", verbs: "get list watch", forDrains: true},
		// Without these, a drain leaves no pod to responders, and sees none of them at work.
		{group: lifecyclev1alpha1.GroupKubernetes, resource: "evictions", verbs: "list watch", forDrains: true, optional: true},
		{resource: "nodes", verbs: "get list watch patch", asNode: true},
		{resource: "nodes/status", verbs: "patch", asNode: true},
		{resource: "events", verbs: "create patch", asNode: true},
		{resource: "pods", verbs: "get list watch", asNode: true, forDrains: true},
		{resource: "pods/eviction", verbs: "create", asNode: true, forDrains: true},
		{resource: "persistentvolumeclaims", verbs: "get", asNode: true, forDrains: true},
		{resource: "persistentvolumes", verbs: "get", asNode: true, forDrains: true},
		// Without this, a drain can override no budget, which an administrator may want.
		{resource: "pods", verbs: "delete", asNode: true, forDrains: true, optional: true},
	}
}

// neededBy returns the permissions of an agent.
func neededBy(a Agent) (all []permission) {
	needs := draining(a.Group)
	if a.OnlyAnnounces {
		needs = announcing
	}
	for _, n := range needs {
		if n.forDrains && !a.Drains {
			continue
		}
		for verb := range strings.FieldsSeq(n.verbs) {
			if n.asNode && a.As != ActAsSelf {
				verb = onAssociatedNode + verb
			}
			all = append(all, permission{verb, n.group, n.resource, n.optional})
		}
	}
	if a.As != ActAsSelf {
		all = append(all, permission{verb: "impersonate:associated-node", group: "authentication.k8s.io", resource: "nodes"})
	}
	return all
}

// notIn returns the permissions that the rules do not give.
func notIn(rules []authorizationv1.ResourceRule, needed []permission) []permission {
	return slices.DeleteFunc(slices.Clone(needed), func(p permission) bool {
		return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
			return len(r.ResourceNames) == 0 && has(r.Verbs, p.verb) && has(r.APIGroups, p.group) && has(r.Resources, p.resource)
		})
	})
}

func has(of []string, wanted string) bool {
	return slices.Contains(of, wanted) || slices.Contains(of, "*")
}
