// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// out is a node that is out for one maintenance: its drain goes on. Tests change what they are
// about, and look at one decision.
type out struct {
	now   time.Time
	m     *slipwayv1alpha1.NodeMaintenance
	other *slipwayv1alpha1.NodeMaintenance // of all nodes as well, and in stage Idle
	node  Node
	drain *lifecyclev1alpha1.LifecycleEvent
	back  *lifecyclev1alpha1.LifecycleEvent // nil, if it is not on its way back
	refs  []Ref
	facts Facts
}

func nodeOut() *out {
	o := &out{now: epoch}
	o.m, o.other = maintenanceOfAll("blue"), maintenanceOfAll("red")
	o.m.Spec.Stage, o.m.Spec.Rollout = slipwayv1alpha1.StageDrain, &slipwayv1alpha1.MaintenanceRollout{}
	o.node.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"zone": "a"}}}
	o.node.Spec.Unschedulable = true
	o.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	o.refs = []Ref{{UID: o.m.UID, Name: o.m.Name}}
	o.drain = newDrain("one", nil, slipwayv1alpha1.DrainParameters{})
	o.asks(planOf(o.m)...)
	o.drain.UID, o.drain.Generation, o.drain.CreationTimestamp = "drain-1", 1, metav1.NewTime(epoch.Add(-time.Hour))
	o.drain.Finalizers = append(o.drain.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
	o.drain.Status.ClaimStatus, o.drain.Status.ObservedGeneration = lifecyclev1alpha1.Claimed, 1
	o.node.CordonedFor = []types.UID{o.drain.UID}
	return o
}

func maintenanceOfAll(name string) *slipwayv1alpha1.NodeMaintenance {
	m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name + "-1"), Generation: 1, CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour)),
		Finalizers: []string{slipwayv1alpha1.MaintenanceFinalizer},
	}}
	m.Spec.Stage = slipwayv1alpha1.StageIdle
	m.Spec.NodeSelector = corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "elsewhere", Operator: corev1.NodeSelectorOpDoesNotExist},
	}}}}
	return m
}

// reached has nothing be left of what the drain covers, since then.
func (o *out) reached(since time.Time) {
	o.says(lifecyclev1alpha1.ConditionTargetsReached, metav1.ConditionTrue, "Reached", since)
}

func (o *out) says(kind string, status metav1.ConditionStatus, reason string, since time.Time) {
	o.drain.Status.Conditions = append(o.drain.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, ObservedGeneration: o.drain.Generation, LastTransitionTime: metav1.NewTime(since),
	})
}

// recorded has the Node say how the maintenance is done with it.
func (o *out) recorded(state RecordState, change func(*Record)) {
	r := Record{UID: o.m.UID, State: state, At: epoch.Add(-time.Minute)}
	if change != nil {
		change(&r)
	}
	o.node.Records = append(o.node.Records, r)
}

// returning puts a return beside the drain, that is pending.
func (o *out) returning() {
	o.back = newEvent(ReturnName("one"), LabelReturn, "return", "one", nil)
	o.back.UID, o.back.CreationTimestamp = "back-1", metav1.NewTime(epoch.Add(-time.Minute))
}

// gone has no event be there.
func (o *out) gone() { o.drain, o.refs = nil, nil }

func (o *out) gather() Facts {
	f := o.facts
	f.JobNamespace = "slipway-system-jobs"
	f.Maintenances = append(f.Maintenances, o.m, o.other)
	f.Nodes = append(f.Nodes, o.node)
	for _, e := range []*lifecyclev1alpha1.LifecycleEvent{o.drain, o.back} {
		if e != nil {
			setRefs(e, o.refs)
			f.Events = append(f.Events, e)
		}
	}
	return f
}

// look is what is known before any node begins.
func (o *out) look() (*selection, *node, *maintenance) {
	s := judged(newView(o.gather(), o.now))
	return s, s.byName["one"], s.byUID[o.m.UID]
}

// planned adds how far the drains go.
func (o *out) planned() (*plan, *node, *maintenance) {
	s, n, m := o.look()
	return planDrains(s), n, m
}
