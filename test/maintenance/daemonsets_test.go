// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/harness"
)

// everywhere is a DaemonSet on the nodes of a scene that tolerates whatever there is: no taint
// keeps it away.
type everywhere struct {
	*scene
	app string
}

// everywhere creates one, with changes, and waits until its pods run.
func (c *scene) everywhere(changes ...func(*appsv1.DaemonSet)) *everywhere {
	c.t.Helper()
	e := &everywhere{c, c.group + "-everywhere"}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: e.app, Namespace: metav1.NamespaceDefault}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": e.app}}
	d.Spec.Template = harness.PodSpec(e.app, c.group, harness.PodOptions{Gone: time.Second})
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	// The pod that is kept away is one that is not available, as that of a node that is down.
	d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(2))},
	}
	for _, change := range changes {
		change(d)
	}
	c.must(c.env.Client.Create(c.t.Context(), d))
	c.t.Cleanup(func() { c.env.DeleteQuietly(d) })
	e.awaitReady(len(c.nodes))
	return e
}

// awaitReady waits until as many of its pods are Ready, and are those of its newest template.
func (e *everywhere) awaitReady(pods int) {
	e.t.Helper()
	harness.Await(e.t, e.env, "daemonset "+e.app+" is ready", &appsv1.DaemonSetList{}, func(d *appsv1.DaemonSet) bool {
		return d.Status.ObservedGeneration == d.Generation && int(d.Status.NumberReady) == pods &&
			d.Status.UpdatedNumberScheduled == d.Status.DesiredNumberScheduled && int(d.Status.DesiredNumberScheduled) == len(e.nodes)
	}, harness.Named(e.app))
}

// on is its pod that runs on a node.
func (e *everywhere) on(node string) *corev1.Pod {
	e.t.Helper()
	return harness.Await(e.t, e.env, "a pod of "+e.app+" is on "+node, &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning
	}, client.MatchingLabels{"app": e.app}, client.MatchingFields{"spec.nodeName": node})
}

// awaitAtTheGate waits until its pod for the node waits at our gate, and none is on the node.
func (e *everywhere) awaitAtTheGate(node string) *corev1.Pod {
	e.t.Helper()
	waits := harness.Await(e.t, e.env, "a pod of "+e.app+" waits at the gate", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated
		})
	}, client.MatchingLabels{"app": e.app, slipwayv1alpha1.KeptAway: "true"})
	harness.AwaitNone[*corev1.Pod](e.t, e.env, &corev1.PodList{}, client.MatchingLabels{"app": e.app}, client.MatchingFields{"spec.nodeName": node})
	want := []corev1.PodSchedulingGate{{Name: slipwayv1alpha1.KeptAwayGate}}
	if !slices.Equal(waits.Spec.SchedulingGates, want) || waits.Spec.NodeName != "" {
		e.t.Errorf("pod %s has the gates %v and is on %q", waits.Name, waits.Spec.SchedulingGates, waits.Spec.NodeName)
	}
	return waits
}

// update changes the DaemonSet's template.
func (e *everywhere) update(image string) {
	e.t.Helper()
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: e.app, Namespace: metav1.NamespaceDefault}}
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}}}`
	e.must(e.env.Client.Patch(e.t.Context(), d, client.RawPatch("application/strategic-merge-patch+json", []byte(patch))))
}

// unmarked checks that the node says of nothing any more that it keeps it away.
func (e *everywhere) unmarked(node string) {
	e.t.Helper()
	e.awaitNode(node, "keeps nothing away", func(n *corev1.Node) bool {
		return n.Labels[slipwayv1alpha1.KeptAway] == "" && n.Annotations[slipwayv1alpha1.KeptAway] == ""
	})
}

// ofDaemonSets has the drain come to pods of DaemonSets as well, and only the first node taken.
func ofDaemonSets(c *scene) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.DrainPlan = []slipwayv1alpha1.DrainTarget{{PodType: slipwayv1alpha1.PodTypeDaemonSet, PodPriority: new(int32(1000))}}
		s.NodeSelector = corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: c.nodes[:1]},
		}}}}
	}
}

// TestPodsOfDaemonSetsStayAwayUntilTheReturn also where they tolerate every taint (KEP-4212). The
// DaemonSet goes on on the other nodes meanwhile, updates included.
func TestPodsOfDaemonSetsStayAwayUntilTheReturn(t *testing.T) {
	s := newStage(t)
	c := s.scene(t, 3)
	d := c.everywhere()
	other := d.on(c.nodes[1])
	p := start(t, s.env, "")
	m := c.maintain(somebody, ofDaemonSets(c))
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	first := d.awaitAtTheGate(c.nodes[0])
	c.env.Untouched(t, other)

	d.update("example.com/app:2")
	d.awaitReady(2)
	if second := d.awaitAtTheGate(c.nodes[0]); second.UID == first.UID {
		t.Errorf("pod %s is of the old template", second.Name)
	}

	c.done(c.nodes[0])
	m.AwaitCompleted()
	d.awaitReady(3)
	d.on(c.nodes[0])
	d.unmarked(c.nodes[0])
	m.Delete()
	p.Stop()
}

// TestADaemonSetWithOnDeleteIsUpdatedByTheDrain: the pod of a node in maintenance returns with the new template (KEP-4212,
// story 4). The pods of all other nodes stay.
func TestADaemonSetWithOnDeleteIsUpdatedByTheDrain(t *testing.T) {
	s := newStage(t)
	c := s.scene(t, 2)
	d := c.everywhere(func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	})
	other := d.on(c.nodes[1])
	const image = "example.com/app:2"
	d.update(image)
	p := start(t, s.env, "")
	m := c.maintain(somebody, ofDaemonSets(c))
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	d.awaitAtTheGate(c.nodes[0])
	c.done(c.nodes[0])
	m.AwaitCompleted()
	if got := d.on(c.nodes[0]).Spec.Containers[0].Image; got != image {
		t.Errorf("after the return, the pod has image %s, want %s", got, image)
	}
	c.env.Untouched(t, other)
	m.Delete()
	p.Stop()
}

// TestPodsOfDaemonSetsComeBackHoweverItEnds: whoever ends the maintenance, and whenever the
// controller dies over it.
func TestPodsOfDaemonSetsComeBackHoweverItEnds(t *testing.T) {
	for name, end := range map[string]func(*scene, *Maintenance) (finish func()){
		"the maintenance is deleted": func(_ *scene, m *Maintenance) func() {
			uid := m.BeginDelete()
			return func() { m.AwaitGone(uid) }
		},
		"it is aborted": func(_ *scene, m *Maintenance) func() {
			m.Change(in(slipwayv1alpha1.StageComplete))
			return m.Delete
		},
		"its drain is canceled": func(c *scene, m *Maintenance) func() {
			c.cancel(c.nodes[0])
			return m.Delete
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c := s.scene(t, 1)
			d := c.everywhere()
			before := start(t, s.env, faultpoint.MaintenanceKeptAway)
			m := c.maintain(somebody, ofDaemonSets(c))
			before.AwaitFaultPoint(faultpoint.MaintenanceKeptAway)
			d.on(c.nodes[0]) // nobody is evicted whose DaemonSet would not be held
			before.Kill()

			dies := start(t, s.env, faultpoint.MaintenanceLetBack)
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
			d.awaitAtTheGate(c.nodes[0])
			finish := end(c, m)
			dies.AwaitFaultPoint(faultpoint.MaintenanceLetBack)
			dies.Kill()

			p := start(t, s.env, "")
			d.awaitReady(1)
			d.on(c.nodes[0])
			d.unmarked(c.nodes[0])
			finish()
			p.Stop()
		})
	}
}
