// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// written are the versions of a Node's condition that a watcher has seen, in order.
type written struct {
	mu       sync.Mutex
	versions map[corev1.NodeConditionType][]corev1.NodeCondition
	early    bool // it was drain-started before it was cordoned
}

// recordConditions begins to watch the conditions of the Node.
func recordConditions(t *testing.T, env *harness.Env, node *harness.Node) *written {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	t.Cleanup(func() { cancel(); watching.Wait() })
	w, err := env.Client.Watch(ctx, &corev1.NodeList{}, harness.Named(node.Name))
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, w.Stop)
	all := &written{versions: map[corev1.NodeConditionType][]corev1.NodeCondition{}}
	watching.Go(func() {
		for event := range w.ResultChan() {
			if n, ok := event.Object.(*corev1.Node); ok {
				all.saw(n)
			}
		}
	})
	return all
}

func (w *written) saw(node *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range node.Status.Conditions {
		if c.Reason == "drain-started" && c.Status == corev1.ConditionTrue && !node.Spec.Unschedulable {
			w.early = true
		}
		of := w.versions[c.Type]
		if len(of) == 0 || of[len(of)-1] != c {
			w.versions[c.Type] = append(of, c)
		}
	}
}

// take is what was seen of a type since it was taken last.
func (w *written) take(t corev1.NodeConditionType) []corev1.NodeCondition {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.versions[t]
	w.versions[t] = slices.Clone(taken[max(0, len(taken)-1):]) // the last one is compared with
	return taken
}

// steps are statuses and reasons, without versions of which only the message differs;
// anyReason: of what is True, without the reasons.
func steps(versions []corev1.NodeCondition, anyReason bool) []string {
	var all []string
	for _, c := range versions {
		text := fmt.Sprintf("%s %s", c.Status, c.Reason)
		if anyReason && c.Status == corev1.ConditionTrue {
			text = "True"
		}
		if len(all) == 0 || all[len(all)-1] != text {
			all = append(all, text)
		}
	}
	return all
}

// sameTime checks that the time of the transition changes with the status, and not else.
func sameTime(t *testing.T, versions []corev1.NodeCondition) {
	t.Helper()
	for i := 1; i < len(versions); i++ {
		before, after := versions[i-1], versions[i]
		if before.Status == after.Status && !before.LastTransitionTime.Equal(&after.LastTransitionTime) {
			t.Errorf("the time of the transition changed, the status did not: %+v, then %+v", before, after)
		}
	}
}

func awaitNodeCondition(node *harness.Node, conditionType corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) {
	node.Await(fmt.Sprintf("has condition %s=%s %s", conditionType, status, reason), func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == conditionType && c.Status == status && c.Reason == reason && strings.Contains(c.Message, message)
		})
	})
}

// The life of a node: drained and returned; held up and canceled; held up until the
// deadline; drained in the end.
func TestTheNodeSaysWhetherItIsBeingDrained(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "conditions")
	node.Expect(harness.CordonLeft, notReturned)
	seen := recordConditions(t, env, node)
	node.Agent("")
	const inProgress, drained = corev1.NodeDrainInProgress, corev1.NodeDrained
	expect := func(what string, atMost int, wantInProgress, wantDrained []string) {
		t.Helper()
		for conditionType, want := range map[corev1.NodeConditionType][]string{inProgress: wantInProgress, drained: wantDrained} {
			versions := seen.take(conditionType)
			if diff := cmp.Diff(want, steps(versions, slices.Contains(want, "True"))); diff != "" {
				t.Errorf("%s: condition %s (-want +got):\n%s", what, conditionType, diff)
			}
			if len(versions) > atMost {
				t.Errorf("%s: condition %s was written %d times; want %d at most: %+v", what, conditionType, len(versions), atMost, versions)
			}
			sameTime(t, versions)
		}
	}

	node.Pod("first", quick())
	first := node.Event(node.EventName("first"), harness.Drain, harness.Kept)
	env.Outcome(t, first.Name)
	awaitNodeCondition(node, drained, corev1.ConditionTrue, "DrainCompleted", string(first.UID))
	// It may be blocked for a moment: a pod that was just bound can be refused to its node.
	expect("drained", 3, []string{"True", "False DrainCompleted"}, []string{"False DrainStarted", "True DrainCompleted"})

	seen.mu.Lock()
	if seen.early {
		t.Error("the Node has said drain-started before it was cordoned")
	}
	seen.mu.Unlock()
	returnNode(t, env, node)
	awaitNodeCondition(node, drained, corev1.ConditionFalse, "NodeReturned", "")
	expect("returned", 2, []string{"False DrainCompleted", "False NodeReturned"}, []string{"True DrainCompleted", "False NodeReturned"})

	half := halfDrain(t, env, node)
	awaitNodeCondition(node, inProgress, corev1.ConditionTrue, "AdminRequested", fmt.Sprintf("event %s (UID %s): 1/2 pods, blocked", half.event.Name, half.event.UID))
	// People are told as well, at the node and at the event.
	for _, reason := range []string{"LifecycleEventClaimed", "NodeCordoned", "LifecycleEventBlocked"} {
		env.AwaitCoreEvent(t, node.Name, reason)
		harness.Await(t, env, "a core Event "+reason+" of the event", &corev1.EventList{}, func(*corev1.Event) bool { return true },
			client.MatchingFields{"involvedObject.kind": "LifecycleEvent", "involvedObject.uid": string(half.event.UID), "reason": reason})
	}
	env.Delete(t, half.event)
	canceled(t, env.Outcome(t, half.event.Name))
	awaitNodeCondition(node, drained, corev1.ConditionFalse, "Canceled", string(half.event.UID))
	// Whether it moves for a moment before it is blocked is the machine's affair; that it was blocked is seen above.
	expect("held up and canceled", 4,
		[]string{"False NodeReturned", "True", "False Canceled"},
		[]string{"False NodeReturned", "False DrainStarted", "False Canceled"})

	late := node.Event(node.EventName("late"), harness.Drain, harness.SLA(10*time.Second))
	awaitNodeCondition(node, drained, corev1.ConditionFalse, lifecyclev1alpha1.ReasonSLAExpired, string(late.UID))
	env.AwaitEventGone(t, late.Name)
	// What holds it up was there before it began, so that it may say so at once.
	expect("at the deadline", 3,
		[]string{"False Canceled", "True", "False SlaExpired"},
		[]string{"False Canceled", "False DrainStarted", "False SlaExpired"})

	half.pod.LetGo(t)
	last := node.Event(node.EventName("last"), harness.Drain)
	env.AwaitEventGone(t, last.Name)
	node.AwaitPodsGone(client.MatchingLabels{"app": half.pod.Labels["app"]})
	awaitNodeCondition(node, drained, corev1.ConditionTrue, "DrainCompleted", string(last.UID))
	expect("drained at last", 3,
		[]string{"False SlaExpired", "True AdminRequested", "False DrainCompleted"},
		[]string{"False SlaExpired", "False DrainStarted", "True DrainCompleted"})

	env.Kubectl(t, "uncordon", node.Name)
	awaitNodeCondition(node, drained, corev1.ConditionFalse, "NodeReturned", string(last.UID))
}
