// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// moment is where on its way a node is when somebody intervenes.
type moment struct {
	// come gets a maintenance of one node there.
	come func(*scene) *Maintenance
	// goOn is what it waits for then.
	goOn func(*scene, *Maintenance)
	// finish is what it takes besides, where no pause is in the way.
	finish func(*Maintenance)
	// begun: the node is out.
	begun bool
	// held: it is not, but its drain is asked for.
	held bool
	// back: it is not any more, and no drain is left to cancel.
	back bool
	// failed is why it has failed before; empty: it has not.
	failed string
	// finishes: what goes on is not broken off, whatever happens to the maintenance.
	finishes bool
}

// slow is work that somebody has to end, quick is over at once.
const slow, quick = "slow", "quick"

var moments = map[string]moment{
	"Idle": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(nobody, in(slipwayv1alpha1.StageIdle))
			m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonIdle)
			return m
		},
		goOn: func(_ *scene, m *Maintenance) { m.Change(in(slipwayv1alpha1.StageDrain)) },
	},
	"Cordon": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(together, in(slipwayv1alpha1.StageCordon))
			c.awaitCordoned(c.nodes[0])
			return m
		},
		goOn:   func(_ *scene, m *Maintenance) { m.Change(in(slipwayv1alpha1.StageDrain)) },
		finish: func(m *Maintenance) { m.Change(in(slipwayv1alpha1.StageComplete)) },
		begun:  true,
	},
	"a drain that goes on": {
		come: func(c *scene) *Maintenance {
			c.held(c.nodes[0])
			m := c.maintain(nobody)
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
			return m
		},
		goOn:  func(c *scene, _ *Maintenance) { c.letGo() },
		begun: true,
	},
	"a node that is drained": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(somebody)
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
			return m
		},
		goOn:  func(c *scene, _ *Maintenance) { c.done(c.nodes[0]) },
		begun: true,
	},
	"a Job that runs": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(job(slow))
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonJobRunning)
			return m
		},
		goOn: func(c *scene, _ *Maintenance) {
			endJob(c.t, c.env, awaitJob(c.t, c.env, c.nodes[0]), true)
		},
		begun: true, finishes: true,
	},
	"a hook before the drain": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(nobody, hook("ask", slipwayv1alpha1.BeforeDrain))
			c.awaitHook(m, "ask")
			return m
		},
		goOn: func(c *scene, _ *Maintenance) { c.open(c.nodes[0], "ask") },
		held: true,
	},
	"a hook after the drain": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(nobody, hook("check", slipwayv1alpha1.AfterDrain))
			c.awaitHook(m, "check")
			return m
		},
		goOn:  func(c *scene, _ *Maintenance) { c.open(c.nodes[0], "check") },
		begun: true,
	},
	"a node that has failed": {
		come: func(c *scene) *Maintenance {
			m := c.maintain(job(slow), func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Work.BackoffLimit = new(int32(0)) })
			endJob(c.t, c.env, awaitJob(c.t, c.env, c.nodes[0]), false)
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeFailed, slipwayv1alpha1.ReasonJobFailed)
			return m
		},
		goOn: func(_ *scene, m *Maintenance) {
			m.Change(func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Retry, s.Work.PodTemplate = 1, quick })
		},
		begun: true, failed: slipwayv1alpha1.ReasonJobFailed,
	},
	"a node that is back, and not healthy": {
		come: func(c *scene) *Maintenance {
			c.daemons()
			c.isReady(c.daemonOn(c.nodes[0]), corev1.ConditionFalse)
			m := c.maintain(nobody)
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeUnhealthy, slipwayv1alpha1.ReasonDaemonSetsUnready)
			return m
		},
		goOn: func(c *scene, _ *Maintenance) { c.isReady(c.daemonOn(c.nodes[0]), corev1.ConditionTrue) },
		back: true,
	},
}

// TestEnds cancels, pauses, aborts and deletes maintenances, wherever their nodes are.
func TestEnds(t *testing.T) {
	s := newStage(t)
	podTemplate(t, s.env, slow, harness.Forever)
	podTemplate(t, s.env, quick, time.Millisecond)
	p := start(t, s.env, "")
	t.Run("all", func(t *testing.T) {
		for at, moment := range moments {
			for what, end := range endings {
				t.Run(what+", at "+at, func(t *testing.T) {
					t.Parallel()
					end(s.scene(t, 1), moment)
				})
			}
		}
	})
	p.Stop()
}

var endings = map[string]func(*scene, moment){
	"deletion": func(c *scene, at moment) { c.deletion(at) },
	"deletion in foreground": func(c *scene, at moment) {
		c.deletion(at, client.PropagationPolicy(metav1.DeletePropagationForeground))
	},
	"abort": func(c *scene, at moment) {
		m := at.come(c)
		m.Change(in(slipwayv1alpha1.StageComplete))
		if at.finishes {
			m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeReturning, slipwayv1alpha1.ReasonJobRunning)
			at.goOn(c, m)
		}
		m.AwaitEnd()
		c.awaitBack(c.nodes[0])
		c.untouched()
		m.Delete()
	},
	"pause": func(c *scene, at moment) {
		m := at.come(c)
		m.Change(paused(true))
		at.goOn(c, m)
		if at.back { // it is done with, whoever pauses
			m.AwaitCompleted()
			m.Delete()
			return
		}
		m.AwaitCondition(slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonPaused)
		c.others()
		if n := c.awaitNode(c.nodes[0], "is there", func(*corev1.Node) bool { return true }); n.Spec.Unschedulable != at.begun {
			c.t.Errorf("while the maintenance is paused, its node is cordoned: %t", n.Spec.Unschedulable)
		}
		m.Change(paused(false))
		if at.finish != nil {
			at.finish(m)
		}
		m.AwaitCompleted()
		c.awaitBack(c.nodes[0])
		m.Delete()
	},
	"cancellation of the drain": func(c *scene, at moment) {
		m := at.come(c)
		if !at.begun && !at.held {
			m.Change(in(slipwayv1alpha1.StageComplete)) // there is no drain to cancel
			m.AwaitEnd()
			m.Delete()
			return
		}
		c.cancel(c.nodes[0])
		m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeFailed, cmp.Or(at.failed, slipwayv1alpha1.ReasonDrainCanceled))
		c.awaitBack(c.nodes[0]) // before anybody asks for it
		m.Change(in(slipwayv1alpha1.StageComplete))
		m.AwaitEnd()
		c.awaitBack(c.nodes[0])
		m.Delete()
	},
}

// deletion deletes the maintenance. In foreground, the garbage collector deletes first what it
// owns: no Job that is running.
func (c *scene) deletion(at moment, how ...client.DeleteOption) {
	c.t.Helper()
	m := at.come(c)
	uid := m.BeginDelete(how...)
	if at.finishes {
		m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeReturning, slipwayv1alpha1.ReasonJobRunning)
		c.others()
		at.goOn(c, m)
	}
	m.AwaitGone(uid)
	c.awaitBack(c.nodes[0])
	c.untouched()
}

// untouched checks that no pod was evicted that is still held.
func (c *scene) untouched() {
	c.t.Helper()
	for _, pod := range c.pods {
		c.env.Untouched(c.t, pod)
	}
}

// letGo deletes the budget of a pod that is held.
func (c *scene) letGo() {
	c.t.Helper()
	c.env.Delete(c.t, c.budget)
	c.pods = nil
}

// others lets time pass: another maintenance goes all of its way meanwhile.
func (c *scene) others() {
	c.t.Helper()
	other := c.stage.scene(c.t, 1)
	m := other.maintain(nobody)
	m.AwaitCompleted()
	m.Delete()
}
