// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// aMoment is a timeout that passes while a test waits for what comes then.
const aMoment = 2 * time.Second

// TestOnTheWay holds nodes up on their way, and lets them go on.
func TestOnTheWay(t *testing.T) {
	s := newStage(t)
	podTemplate(t, s.env, "work", time.Millisecond)
	podTemplate(t, s.env, "failing", 24*time.Hour)
	people(t, s.env)
	p := start(t, s.env, "")
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*scene){
			"hooks hold a node until somebody opens them":          hooks,
			"a hook that nobody opens fails, or not":               hookTimeout,
			"somebody says that the work is done":                  byHand,
			"kubectl slipway done says that the work is done":      doneByCommand,
			"kubectl slipway done says that nothing waits":         notDoneYet,
			"a Job that has failed is tried again":                 jobFails,
			"a Job that is refused says why":                       jobRefused,
			"a Job that is deleted is not run again":               jobDeleted,
			"an event in the way is shown, and waited for":         eventInTheWay,
			"a PodTemplate that is missing holds all up":           noTemplate,
			"the end of the window gives an unfinished drain back": windowCancels,
			"the end of the window lets an unfinished drain go on": windowFinishes,
			"a selector that cannot be read does nothing":          badSelector,
			"two maintenances share a node":                        two,
			"a node that was cordoned before stays so":             cordonedBefore,
			"a node that somebody uncordons is cordoned again":     uncordoned,
			"what is planned says when":                            planned,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(s.scene(t, 1))
			})
		}
	})
	p.Stop()
}

func hooks(c *scene) {
	node := c.nodes[0]
	m := c.maintain(nobody, hook("first", slipwayv1alpha1.BeforeDrain), hook("second", slipwayv1alpha1.AfterDrain), hook("third", slipwayv1alpha1.BeforeReturn))
	c.awaitHook(m, "first")
	if n := c.awaitNode(node, "is there", func(*corev1.Node) bool { return true }); n.Spec.Unschedulable {
		c.t.Error("the node is cordoned before the first hook is open")
	}
	c.open(node, "first")
	c.awaitHook(m, "second")
	c.open(node, "second")
	c.awaitHook(m, "third")
	c.awaitCordoned(node)
	c.open(node, "third")
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}

// awaitHook waits until the node is said to wait for that hook.
func (c *scene) awaitHook(m *Maintenance, hook string) {
	c.t.Helper()
	m.Await("has its node wait for hook "+hook, func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return slices.ContainsFunc(o.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
			return n.Phase == slipwayv1alpha1.NodeHeld && n.Reason == slipwayv1alpha1.ReasonHookWaiting && strings.Contains(n.Message, hook)
		})
	})
}

func hookTimeout(c *scene) {
	node := c.nodes[0]
	m := c.maintainAs("fails", nobody, hook("slow", slipwayv1alpha1.BeforeDrain), until(aMoment, slipwayv1alpha1.HookFails))
	m.AwaitNode(node, slipwayv1alpha1.NodeFailed, slipwayv1alpha1.ReasonHookTimeout)
	m.Delete()
	m = c.maintainAs("proceeds", nobody, hook("slow", slipwayv1alpha1.BeforeDrain), until(aMoment, slipwayv1alpha1.HookProceeds))
	m.AwaitCompleted()
	m.Delete()
}

func byHand(c *scene) {
	node := c.nodes[0]
	m := c.maintain(somebody)
	m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.awaitCordoned(node)
	c.done(node)
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}

func jobFails(c *scene) {
	node := c.nodes[0]
	m := c.maintain(job("failing"), func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Work.BackoffLimit = new(int32(0)) })
	endJob(c.t, c.env, awaitJob(c.t, c.env, node), false)
	m.AwaitNode(node, slipwayv1alpha1.NodeFailed, slipwayv1alpha1.ReasonJobFailed)
	c.awaitCordoned(node)
	m.Change(func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Retry, s.Work.PodTemplate = 1, "work" })
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}

func noTemplate(c *scene) {
	m := c.maintain(job("no-such-template"))
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonJobInvalid)
	c.says(o, `has no PodTemplate "no-such-template"`)
	c.awaitBack(c.nodes[0])
	m.Delete()
}

// windowCancels and windowFinishes: the window ends when the drain has begun, however long that
// has taken.
func windowCancels(c *scene) {
	c.held(c.nodes[0])
	m := c.maintain(nobody, closing(time.Hour, slipwayv1alpha1.CancelAtDeadline))
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	m.Change(closing(0, slipwayv1alpha1.CancelAtDeadline))
	m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonWindowOver)
	c.awaitBack(c.nodes[0])
	c.untouched()
	m.Delete()
}

func windowFinishes(c *scene) {
	c.held(c.nodes[0])
	m := c.maintain(nobody, closing(time.Hour, slipwayv1alpha1.FinishAtDeadline))
	m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	end := metav1.Now().Add(aMoment)
	m.Change(closing(aMoment, slipwayv1alpha1.FinishAtDeadline))
	harness.AwaitTime(c.t, end)
	c.letGo()
	m.AwaitCompleted()
	c.awaitBack(c.nodes[0])
	m.Delete()
}

func badSelector(c *scene) {
	m := c.maintain(nobody, func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.NodeSelector.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Like"
	})
	o := m.AwaitCondition(slipwayv1alpha1.MaintenanceAccepted, metav1.ConditionFalse, slipwayv1alpha1.ReasonInvalidSelector)
	c.says(o, "spec.nodeSelector")
	m.Delete()
}

// two: the node is out once, and back when both are done with it.
func two(c *scene) {
	node := c.nodes[0]
	a, b := c.maintainAs("a", somebody), c.maintainAs("b", nobody, hook("last", slipwayv1alpha1.BeforeReturn))
	a.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.awaitHook(b, "last")
	c.done(node)
	c.awaitNode(node, "is done with by one", func(n *corev1.Node) bool { return n.Annotations[slipwayv1alpha1.MaintenancesAnnotation] != "" })
	c.awaitCordoned(node)
	c.open(node, "last")
	a.AwaitCompleted()
	b.AwaitCompleted()
	c.awaitBack(node)
	a.Delete()
	b.Delete()
}

func cordonedBefore(c *scene) {
	node := c.nodes[0]
	c.cordon(node, true)
	m := c.maintain(nobody)
	m.AwaitCompleted()
	c.awaitCordoned(node)
	m.Delete()
	c.awaitCordoned(node)
}
