// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"context"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestLeases runs the cases on one cluster, on which nothing of Slipway runs. The first is
// before the namespace is there.
func TestLeases(t *testing.T) {
	s := &scene{Env: harness.Own(t, harness.Options{Bare: true})}
	withoutANamespace(t, s)
	s.Kubectl(t, "create", "namespace", nodelease.Namespace)
	s.Kubectl(t, "apply", "-f", harness.File(t, "config", "rbac", "leases", "people.yaml"))
	for name, test := range map[string]func(*testing.T, *scene){
		"of many that acquire at the same time, one has it":  oneOfMany,
		"a Lease goes with its Node":                         goesWithItsNode,
		"what is given back is as the server takes it":       givenBack,
		"work is kept, and stopped when the lease is broken": stoppedWhenBroken,
		"the Roles let people do what they say":              rolesOfPeople,
		"an administrator takes it, sees it and releases it": byHand,
		"a command runs while the lease is held":             aCommandRuns,
		"a command is ended when its lease is broken":        aCommandIsEnded,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// scene is the cluster.
type scene struct {
	*harness.Env
}

// as are clients of a user; empty: the administrator.
func (s *scene) as(t *testing.T, user string) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(s.Admin)
	config.QPS = -1
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// leases are the leases as a user has them.
func (s *scene) leases(t *testing.T, user string) *nodelease.Client {
	t.Helper()
	return nodelease.New(s.as(t, user), clock.RealClock{})
}

// awaitRight waits until a user may do something with the Leases of nodes: no watch shows
// what the server's authorizer has seen.
func (s *scene) awaitRight(t *testing.T, user, verb string) {
	t.Helper()
	reviews := s.as(t, user).AuthorizationV1().SelfSubjectAccessReviews()
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: nodelease.Namespace, Verb: verb, Group: "coordination.k8s.io", Resource: "leases"},
	}}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		review, err := reviews.Create(ctx, asked, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	})
	if err != nil {
		t.Fatalf("waiting until %s may %s: %v", user, verb, err)
	}
}
