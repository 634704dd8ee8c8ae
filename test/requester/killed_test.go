// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/harness"
)

// rights are what the controller needs for EvictionRequests.
var rights = []rbacv1.PolicyRule{
	{
		APIGroups: []string{"lifecycle.k8s.io"},
		Resources: []string{"evictionrequests", "evictionrequests/status", "evictions", "evictions/status"},
		Verbs:     []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
}

// TestAKilledControllerLeavesNothingBehind kills the controller's process at each moment
// between two steps. The next one goes on, and comes to the same end.
func TestAKilledControllerLeavesNothingBehind(t *testing.T) {
	g := newGround(t, place{"CRDs", false})
	g.grant(t)
	for _, point := range []string{faultpoint.PodRequested, faultpoint.RequestWithdrawn, faultpoint.RequestDeleted} {
		t.Run(point, func(t *testing.T) {
			s := g.scene(t)
			controller := s.controller(point)
			a, b := s.pod(s.node, "a"), s.pod(s.node, "b")
			next := func(at string) {
				if at == point {
					controller.AwaitFaultPoint(point)
					controller.Kill()
					controller = s.controller("")
				}
			}
			s.leave(a, b)
			next(faultpoint.PodRequested)
			s.awaitActive(a)
			s.awaitActive(b)
			if n := len(s.requests()); n != 2 {
				t.Errorf("there are %d requests for two pods", n)
			}
			canceled := s.untilCanceled(a, b)
			s.must(s.env.Client.Delete(t.Context(), s.event))
			next(faultpoint.RequestWithdrawn)
			canceled()
			next(faultpoint.RequestDeleted)
			s.awaitNoRequests()
			controller.Stop()
		})
	}
}

// controller starts a controller's process.
func (s *scene) controller(point string) *harness.Process {
	s.t.Helper()
	return s.env.Controller(s.t, "a", point, "--eviction-requests", "--leader-elect=false")
}

// grant gives the controller its rights.
func (g *ground) grant(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "slipway-controller-evictions-of-a-test"}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rights},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: devcluster.Namespace, Name: devcluster.ControllerServiceAccount}},
		},
	} {
		if err := g.env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
