// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// preflightServer is an API server that gives an agent all rights but some, and of these
// says only when asked for each whether they are allowed.
type preflightServer struct {
	user   authenticationv1.UserInfo
	rights []permission
	lacks  []string // rights, in words for people, that the rules do not have
	allows []string // of these, what is allowed all the same
	node   error    // the answer to who reads the Node
}

func (s preflightServer) config(t *testing.T) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(path string, f func(*http.Request) any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(f(r))
		})
	}
	answer("/apis/authentication.k8s.io/v1/selfsubjectreviews", func(*http.Request) any {
		review := authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: s.user}}
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "SelfSubjectReview"
		return review
	})
	answer("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", func(*http.Request) any {
		var review authorizationv1.SelfSubjectRulesReview
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectRulesReview"
		for _, r := range s.rights {
			if !slices.Contains(s.lacks, r.String()) {
				review.Status.ResourceRules = append(review.Status.ResourceRules, rule(r.group, r.resource, r.verb))
			}
		}
		return review
	})
	answer("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(r *http.Request) any {
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = slices.ContainsFunc(s.rights, func(r permission) bool {
			return cmp.Equal(r.attributes(), a) && slices.Contains(s.allows, r.String())
		})
		return review
	})
	mux.HandleFunc("/api/v1/nodes/worker-1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var status apierrors.APIStatus
		if errors.As(s.node, &status) {
			answer := status.Status()
			answer.APIVersion, answer.Kind = "v1", "Status"
			w.WriteHeader(int(answer.Code))
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		node := corev1.Node{}
		node.APIVersion, node.Kind, node.Name = "v1", "Node", "worker-1"
		_ = json.NewEncoder(w).Encode(node)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	// JSON, because that is what the server reads.
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func TestAPreflightNamesMissingRightsAndHowToGetThem(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	const agent = "system:serviceaccount:slipway-system:agent"
	for name, tc := range map[string]struct {
		as            ActAs
		lacks, allows []string
		node          error
		want          []string // what it works without
		wantError     string
	}{
		"nothing is missing": {},
		"one right": {
			lacks:     []string{"create pods/eviction as its node"},
			wantError: "missing permissions of " + agent + ": create pods/eviction as its node: kubectl apply -f config/rbac",
		},
		"two rights, of a process that acts as itself": {
			as:        ActAsSelf,
			lacks:     []string{"patch nodes", "update lifecycleevents.lifecycle.k8s.io/status"},
			wantError: "missing permissions of " + agent + ": update lifecycleevents.lifecycle.k8s.io/status, patch nodes: kubectl apply -f config/rbac -f config/rbac/reduced",
		},
		"a right that another authorizer gives": {
			lacks: []string{"get nodes as its node"}, allows: []string{"get nodes as its node"},
		},
		"a right that it can work without": {
			lacks: []string{"delete pods as its node"}, want: []string{"delete pods as its node"},
		},
		"the server does not know what it allows": {
			node:      apierrors.NewForbidden(nodes, "system:node:worker-1", errors.New(`User "a" cannot impersonate resource "users"`)),
			wantError: "act as system:node:worker-1: " + ErrNoImpersonation.Error(),
		},
		"the Node is not there yet": {node: apierrors.NewNotFound(nodes, "worker-1")},
		"the Node cannot be read": {
			node:      apierrors.NewForbidden(nodes, "worker-1", errors.New("no")),
			wantError: `read node worker-1 as itself: nodes "worker-1" is forbidden: no`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := Agent{NodeName: "worker-1", Group: "lifecycle.k8s.io", As: tc.as, Drains: true}
			server := preflightServer{user: boundTo("worker-1"), rights: neededBy(of), lacks: tc.lacks, allows: tc.allows, node: tc.node}
			self := server.config(t)
			asNode, _, err := For(t.Context(), self, "worker-1", tc.as)
			if err != nil {
				t.Fatal(err)
			}
			without, err := Preflight(t.Context(), self, asNode, of)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(tc.wantError, said); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, without); diff != "" {
				t.Errorf("without (-want +got):\n%s", diff)
			}
			if strings.Contains(said, "\n") {
				t.Error("the error has more than one line")
			}
		})
	}
}

func TestWhoIsNoServiceAccountIsNotAsked(t *testing.T) {
	of := Agent{NodeName: "worker-1", Group: "g"}
	self := preflightServer{user: authenticationv1.UserInfo{Username: "system:node:worker-1"}}.config(t)
	if without, err := Preflight(t.Context(), self, self, of); err != nil || without != nil {
		t.Errorf("got %q, %v; want nothing", without, err)
	}
}

func TestActAsIsAFlag(t *testing.T) {
	as := ActAsNode
	if err := as.Set("self"); err != nil || as != ActAsSelf {
		t.Errorf("got %q, %v; want self", as, err)
	}
	if err := as.Set("kubelet"); err == nil || as != ActAsSelf {
		t.Errorf("got %q, %v; want an error", as, err)
	}
}
