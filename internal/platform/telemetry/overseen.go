// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// unsaid is the reason of an event about which nobody has said what it waits for, as
// kubectl slipway explain names it.
const unsaid = "NotNoticed"

// overseen are the metrics that only the controller has: what agents cannot say of
// themselves, and whether it works.
type overseen struct {
	leading          prometheus.Gauge
	stalled, pending *prometheus.Desc
	reasons          *vocabulary

	mu    sync.Mutex
	nodes map[string]overseenNode // those alone that there is something to say of
}

type overseenNode struct {
	stalled string         // the reason, or nothing
	pending map[string]int // events, by what they wait for
}

func newOverseen(b *book) *overseen {
	o := &overseen{
		leading: b.gauges("slipway_controller_leading",
			"Whether this controller works (1), or stands by for when the leader ends (0).").WithLabelValues(),
		stalled: b.computed(Gauge, "slipway_node_stalled",
			"Nodes with a claimed LifecycleEvent that nobody drives (condition Stalled), by reason; always 1, and absent for all other nodes.",
			"node", "reason"),
		pending: b.computed(Gauge, "slipway_lifecycle_events_pending",
			"LifecycleEvents that are not claimed, by reason of condition Claimable; "+unsaid+": nobody has said one yet.", "reason"),
		reasons: newVocabulary(), nodes: map[string]overseenNode{},
	}
	b.collectors = append(b.collectors, o)
	return o
}

// Leads says that this controller works from now on.
func (s *Source) Leads() { s.overseen.leading.Set(1) }

// Oversees takes in how the events of a node stand: all that there are.
func (s *Source) Oversees(node string, events []*lifecyclev1alpha1.LifecycleEvent) {
	s.overseen.set(node, events)
}

func (o *overseen) set(node string, events []*lifecyclev1alpha1.LifecycleEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := overseenNode{pending: map[string]int{}}
	for _, e := range events {
		switch {
		case e.Status.ClaimStatus.Terminal():
		case e.Status.ClaimStatus != lifecyclev1alpha1.Claimed:
			n.pending[o.waitsFor(e)]++
		case meta.IsStatusConditionTrue(e.Status.Conditions, lifecyclev1alpha1.ConditionStalled):
			n.stalled = o.reasons.of(meta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionStalled).Reason)
		}
	}
	if n.stalled == "" && len(n.pending) == 0 {
		delete(o.nodes, node)
		return
	}
	o.nodes[node] = n
}

func (o *overseen) waitsFor(e *lifecyclev1alpha1.LifecycleEvent) string {
	c := meta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionClaimable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return unsaid
	}
	return o.reasons.of(c.Reason)
}

// Describe is for the registry.
func (o *overseen) Describe(all chan<- *prometheus.Desc) {
	all <- o.stalled
	all <- o.pending
}

// Collect is for the registry.
func (o *overseen) Collect(all chan<- prometheus.Metric) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pending := map[string]int{}
	for name, n := range o.nodes {
		if n.stalled != "" {
			all <- prometheus.MustNewConstMetric(o.stalled, prometheus.GaugeValue, 1, name, n.stalled)
		}
		for reason, count := range n.pending {
			pending[reason] += count
		}
	}
	for reason, count := range pending {
		all <- prometheus.MustNewConstMetric(o.pending, prometheus.GaugeValue, float64(count), reason)
	}
}
