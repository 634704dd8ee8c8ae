// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-k8s/slipway/drain"
)

func TestHigherPrioritiesLeaveAfterLowerOnes(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	low := s.pod(node, "low", endsAfter(3))
	s.pod(node, "high", s.priority(1000))
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.await("the first step is ending", func(st drain.Status) bool { return st.Message == "0 of 2 pods gone, 1 terminating, 0 blocked" })
	s.wantNotEvicted("high")
	s.awaitGone(low)
	w.wantDrained(node, 2)
	s.wantOrder("low", "high")
}

func TestTargetsLeaveTheOthersInPeaceAndHoldTheNode(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "low")
	s.pod(node, "high", s.priority(1000))
	s.pod(node, "db", s.priority(1000), labelled("db"))
	s.cordon(node)

	w := s.drain(s.drainer(node), node, func(r *drain.Request) {
		r.Hold = true
		r.Targets = []drain.Target{
			{PodType: drain.PodTypeDefault, PodPriority: new(int32(0))},
			{PodType: drain.PodTypeDefault, Selector: labels.SelectorFromSet(labels.Set{"app": "db"})},
		}
	})
	reached := func(pods int) func(drain.Status) bool {
		return func(st drain.Status) bool { return st.Reached && st.Done == pods }
	}
	w.await("the targets are reached", reached(2))
	late := s.create(node, "late")
	s.awaitGone(late)
	w.await("they are reached again", reached(3))
	s.wantNotEvicted("high")
	w.cancel(nil)
	if err := w.end(); err == nil {
		t.Error("a drain that holds has ended by itself")
	}
}

func TestRulesSayWhoLeavesHowAndWhen(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	first := s.pod(node, "first", labelled("cache"), endsAfter(2))
	for _, app := range []string{"web", "monitor", "job", "endless"} {
		s.pod(node, app, labelled(app))
	}
	s.cordon(node)
	book := newRuleBook(
		ruleFor("cache", drain.Evict, func(r *drain.Rule) { r.Order = -1 }),
		ruleFor("monitor", drain.Skip),
		ruleFor("job", drain.WaitCompleted),
		ruleFor("endless", drain.WaitCompleted, func(r *drain.Rule) { r.Deadline = 3 * time.Second }),
	)

	w := s.drain(s.drainer(node, book.use), node)
	s.awaitGone(first)
	w.awaitBlocker("job", drain.WaitingForCompletion, "rule-job")
	s.awaitGone(s.getPod("endless"))
	s.wantNotEvicted("job")
	s.patchPod("job", `{"status":{"phase":"Succeeded"}}`, "status")
	s.must(w.end())
	status, _ := w.status()
	if status.Done != 4 || len(status.Left) != 1 || status.Left[0].Reason != drain.PodSkipped || status.Left[0].By != "rule-monitor" {
		t.Errorf("the last status is %+v, want 4 pods gone and the monitor skipped", status)
	}
	s.wantNotEvicted("monitor")
	if order := s.evicted(); order[0] != "first" {
		t.Errorf("evicted in the order %v", order)
	}
}

func TestNothingLeavesWhileRulesAreNotKnown(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	s.cordon(node)
	book := newRuleBook()
	book.fail(apierrors.NewForbidden(schema.GroupResource{Resource: "drainrules"}, "", nil))

	w := s.drain(s.drainer(node, book.use), node)
	w.awaitBlocker("", drain.ReadRefused, "drain rules of namespace "+s.namespace)
	s.wantEvictions(map[int]int{})
	book.set(ruleFor("other", drain.Skip))
	w.wantDrained(node, 1)
}

func TestARefusedPodHoldsTheDrainUntilSomebodyDecides(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	bare := s.pod(node, "bare")
	s.replicaSet("managed", node)
	s.cordon(node)

	w := s.drain(s.drainer(node), node, func(r *drain.Request) { r.RefuseUnmanaged = true })
	w.awaitBlocker("bare", drain.UnmanagedPod, "")
	s.wantEvictions(map[int]int{})
	s.must(s.admin.CoreV1().Pods(s.namespace).Delete(s.ctx, "bare", metav1.DeleteOptions{}))
	s.awaitGone(bare)
	s.must(w.end())
	s.wantNotEvicted("bare")
}

// priority creates a class of this priority, and gives it to a pod.
func (s *scene) priority(value int32) func(*corev1.Pod) {
	s.t.Helper()
	class, err := s.admin.SchedulingV1().PriorityClasses().Create(s.ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: s.namespace + "-"}, Value: value,
	}, metav1.CreateOptions{})
	s.must(err)
	classed := func(p *corev1.Pod) { p.Spec.PriorityClassName = class.Name }
	// Admission takes its time to hear of a class, and nothing tells when it has.
	s.must(wait.PollUntilContextCancel(s.ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		probe := podSpec(classed)
		probe.GenerateName = "probe-"
		_, err := s.admin.CoreV1().Pods(s.namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	}))
	return classed
}

// evicted returns the pods whose evictions were accepted, in order.
func (s *scene) evicted() []string {
	s.t.Helper()
	var names []string
	for _, r := range s.evictions(s.t, s.namespace) {
		if r.ResponseStatus.Code == 201 {
			names = append(names, r.ObjectRef.Name)
		}
	}
	return names
}

func (s *scene) wantOrder(names ...string) {
	s.t.Helper()
	if got := s.evicted(); !slices.Equal(got, names) {
		s.t.Errorf("evicted in the order %v, want %v", got, names)
	}
}

func (s *scene) wantNotEvicted(name string) {
	s.t.Helper()
	if slices.Contains(s.evicted(), name) {
		s.t.Errorf("pod %s was evicted", name)
	}
}
