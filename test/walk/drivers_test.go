// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestAnEventFailsWhenItsDriverIsRegisteredAndDoesNotAnswerFor30s(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "mute")
	h := node.Record()
	node.Agent("")
	name := node.EventName("mute")
	env.Transition(t, name, name)
	newMuteDriver(t, node, name)

	node.Event(name, name)
	noted := env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionClaimable, lifecyclev1alpha1.ReasonDriverNotReady)
	failed := env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionFinished, lifecyclev1alpha1.ReasonDriverNotReady,
		`driver "`+name+`" is registered on node "`+node.Name+`" but did not answer for 30s`)
	h.Await(name + " gone")
	if diff := cmp.Diff([]string{"Pending", "Failed", "gone"}, h.States(name)); diff != "" {
		t.Errorf("phases of the event (-want +got):\n%s", diff)
	}
	took := changed(failed, lifecyclev1alpha1.ConditionFinished).Sub(changed(noted, lifecyclev1alpha1.ConditionClaimable))
	if took < 30*time.Second || took > 2*time.Minute {
		t.Errorf("it failed %s after the driver was found not to answer; want 30s", took)
	}
	// The event is gone. This stays.
	told := env.AwaitCoreEvent(t, node.Name, "LifecycleEventFailed")
	if !strings.Contains(told.Message, name) || !strings.Contains(told.Message, "did not answer") {
		t.Errorf("the core Event says %q; want one that names the driver", told.Message)
	}
}

// changed is when a condition of the event changed last.
func changed(e *lifecyclev1alpha1.LifecycleEvent, conditionType string) time.Time {
	return harness.Condition(e, conditionType).LastTransitionTime.Time
}

// TestAClaimedEventWaitsForADriverThatGoesAway uses a transition of this node only:
// that it is deleted meanwhile does not disturb the event.
func TestAClaimedEventWaitsForADriverThatGoesAway(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "goes-away")
	h := node.Record()
	node.Agent("")
	name := node.EventName("away")
	ofNode, ofAll := name, node.EventName("away-everywhere")
	env.Transition(t, ofNode, name, onlyOn(node))
	env.Transition(t, ofAll, name)
	driver := newStandIn(t, node, name)
	node.Event(name, ofNode)
	driver.AwaitCall("End " + name)

	left := time.Now()
	driver.Leave()
	waits := env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionDriverAvailable, lifecyclev1alpha1.ReasonDriverMissing, name)
	if available := harness.Condition(waits, lifecyclev1alpha1.ConditionDriverAvailable); available.Status != metav1.ConditionFalse {
		t.Errorf("without its driver the event says %+v; want DriverAvailable to be False", available)
	}
	harness.AwaitNone[*lifecyclev1alpha1.LifecycleTransition](t, env, &lifecyclev1alpha1.LifecycleTransitionList{}, harness.Named(ofNode))
	if took := time.Since(left); took < 30*time.Second || took > 2*time.Minute {
		t.Errorf("the driver's transition of this node was deleted %s after it left; want 30s", took)
	}
	var all lifecyclev1alpha1.LifecycleTransition
	if err := env.Client.Get(t.Context(), client.ObjectKey{Name: ofAll}, &all); err != nil {
		t.Errorf("the driver's transition of all nodes: %v; want it to stay", err)
	}
	if diff := cmp.Diff([]string{"Pending", "Claimed"}, h.States(name)); diff != "" {
		t.Errorf("phases of the event without its driver (-want +got):\n%s", diff)
	}

	driver.Register()
	env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionDriverAvailable, lifecyclev1alpha1.ReasonDriverRegistered)
	driver.Finish()
	drained(t, env, h, name)
}

func TestOnlyItsSLAEndsAnEventWhoseDriverStaysAway(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "stays-away")
	h := node.Record()
	node.Agent("")
	name := node.EventName("away")
	env.Transition(t, name, name)
	driver := newStandIn(t, node, name)
	// Longer than the 30 s after which a driver is taken to have left.
	node.Event(name, name, harness.SLA(35*time.Second))
	driver.AwaitCall("End " + name)

	driver.Leave()
	env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionDriverAvailable, lifecyclev1alpha1.ReasonDriverMissing)
	over := env.AwaitCondition(t, name, lifecyclev1alpha1.ConditionFinished, lifecyclev1alpha1.ReasonSLAExpired)
	h.Await(name + " gone")
	if diff := cmp.Diff([]string{"Pending", "Claimed", "SlaExpired", "gone"}, h.States(name)); diff != "" {
		t.Errorf("phases of the event (-want +got):\n%s", diff)
	}
	if ended := changed(over, lifecyclev1alpha1.ConditionFinished); ended.Before(over.Status.SLA.Time) {
		t.Errorf("it ended at %s, before its deadline %s", ended, over.Status.SLA)
	}
}
