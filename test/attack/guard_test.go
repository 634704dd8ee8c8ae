// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Who may refuse a request.
const (
	byRBAC            = "RBAC"
	byImpersonation   = "constrained impersonation"
	byNodeAuthorizer  = "the Node authorizer"
	byNodeRestriction = "NodeRestriction"

	byAgentEvents = "policy agent-events.slipway.dev"
	byTransitions = "policy transitions.slipway.dev"
	byRequester   = "policy requester.slipway.dev"
	byOverride    = "policy override-budgets.slipway.dev"
	byReleases    = "policy release-claims.slipway.dev"
	byHolds       = "policy release-holds.slipway.dev"
	byBreakGlass  = "policy break-glass.slipway.dev"
	byGuards      = "policy guards.slipway.dev"
	byJobs        = "policy controller-jobs.slipway.dev"
	byEqualJobs   = "policy maintenance-jobs.slipway.dev"
	bySizes       = "policy object-sizes.slipway.dev"
	byUse         = "policy use-transitions.slipway.dev"
	byNodeRecords = "policy node-records.slipway.dev"
	byRecords     = "policy event-records.slipway.dev"
)

var (
	policy      = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
	restriction = regexp.MustCompile(`is forbidden: (node "?[^ "]+"? )?(can only |is not allowed to )`)
)

// guardOf says who refused a request, by what it said.
func guardOf(err error) string {
	if !apierrors.IsForbidden(err) {
		return "nobody"
	}
	text := err.Error()
	switch named := policy.FindStringSubmatch(text); {
	case named != nil:
		return "policy " + named[1]
	case strings.Contains(text, "cannot impersonate"):
		return byImpersonation
	case strings.Contains(text, `User "system:node:`):
		return byNodeAuthorizer
	case strings.Contains(text, `User "`):
		return byRBAC
	case restriction.MatchString(text):
		return byNodeRestriction
	default:
		return "somebody unknown"
	}
}

func TestWhoRefusedIsInWhatItSaid(t *testing.T) {
	for text, want := range map[string]string{
		`User "system:serviceaccount:slipway-system:slipway-node-agent" cannot create resource "lifecycleevents" in API group "lifecycle.k8s.io" at the cluster scope`: byRBAC,
		`User "system:serviceaccount:a:b" cannot impersonate-on:associated-node:get resource "secrets" in API group "" in the namespace "default"`:                     byImpersonation,
		`User "system:node:a" cannot list resource "pods" in API group "" at the cluster scope: can only list/watch pods with spec.nodeName field selector`:            byNodeAuthorizer,
		`node a can only evict pods with spec.nodeName set to itself`:                                                                                                  byNodeRestriction,
		`node "a" is not allowed to modify node "b"`:                                                                      byNodeRestriction,
		`is not allowed to modify labels: node-restriction.kubernetes.io/a`:                                               byNodeRestriction,
		`ValidatingAdmissionPolicy 'agent-events.slipway.dev' with binding 'agent-events.slipway.dev' denied request: no`: byAgentEvents,
		`a webhook does not like it`:                                                                                      "somebody unknown",
	} {
		err := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "a", errors.New(text))
		if got := guardOf(err); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, err := range []error{nil, apierrors.NewBadRequest("typo"), errors.New("no connection")} {
		if got := guardOf(err); got != "nobody" {
			t.Errorf("%v: got %q, want nobody", err, got)
		}
	}
}
