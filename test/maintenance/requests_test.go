// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	few, many = 20, 1000
	// worked is how many nodes are taken out and put back, of those that are selected.
	worked = 6
	// asMany is how many requests more it may take with many nodes selected.
	asMany = 20
	// ofTheStatus are written at most once a second, so that their number hangs on how long it
	// takes, and not on how many nodes are selected.
	ofTheStatus = "update nodemaintenances/status"
)

// TestRequests has the number of requests grow with the nodes in work, and not with those
// that are selected. Nor does the status, of which internal/maintenance shows how large it
// becomes: here, few nodes are listed.
func TestRequests(t *testing.T) {
	s := newStage(t)
	p := start(t, s.env, "")
	p.AwaitLog("Starting workers")
	atFew, atMany := s.countRequests(t, few), s.countRequests(t, many)
	for _, what := range slices.Sorted(maps.Keys(atMany)) {
		t.Logf("%-40s %4d of %4d nodes, %4d of %d", what, atFew[what], few, atMany[what], many)
	}
	if total := func(counts map[string]int) (sum int) {
		for what, n := range counts {
			if what != ofTheStatus {
				sum += n
			}
		}
		return sum
	}; total(atMany) > total(atFew)+asMany {
		t.Errorf("%d nodes took %d requests when %d were selected, and %d when %d were", worked, total(atFew), few, total(atMany), many)
	}
	p.Stop()
}

// countRequests counts the requests of the controller while it takes some of the selected
// nodes out and puts them back.
func (s *stage) countRequests(t *testing.T, selected int) map[string]int {
	t.Helper()
	c := &scene{stage: s, t: t, group: fmt.Sprintf("of-%d", selected)}
	c.nodes = s.env.Bystanders(t, c.group, selected)
	began := time.Now()
	m := c.maintain(rolling(2), nobody, func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Rollout.PauseAfter = new(int32(worked)) })
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonPauseAfter)
	t.Logf("%d of %d nodes took %s", o.Status.Nodes.Returned, selected, time.Since(began).Round(time.Millisecond))
	counts := map[string]int{}
	user := "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.ControllerServiceAccount
	for _, r := range s.env.Requests(t, func(r auditlog.Request) bool {
		return r.User == user && r.Verb != "watch" && r.Began.After(began)
	}) {
		what := r.Verb + " " + r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		counts[what]++
	}
	if most := int(time.Since(began).Seconds()) + 1; counts[ofTheStatus] > most {
		t.Errorf("the status was written %d times in %d s", counts[ofTheStatus], most)
	}
	m.Delete()
	return counts
}
