// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/util/podutils"

	"github.com/slipway-k8s/slipway/drain"
)

// Pods of three nodes, of which none is cordoned, leave under one budget.
func TestPodsOfManyNodesLeaveWithinTheirBudget(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3)
	const replicas = 10
	s.deployment("web", replicas, s.nodes)
	s.budget("web", "web", replicas-2, replicas)
	s.evictsAnywhere()

	d := s.drainerWith(s.admin)
	var trips []*trip
	for _, pod := range s.podsOf("web") {
		trips = append(trips, s.evict(d, &pod))
	}
	for _, e := range trips {
		s.must(e.end())
	}
	requests := s.evictions(t, s.namespace)
	slices.SortFunc(requests, func(a, b request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	for i, next := range requests[1:] {
		if next.RequestReceivedTimestamp.Before(requests[i].StageTimestamp) {
			t.Errorf("two evictions were in flight under one budget: %s and %s", requests[i].ObjectRef.Name, next.ObjectRef.Name)
		}
	}
	refusals := len(requests) - replicas
	t.Logf("%d evictions, %d refused", len(requests), refusals)
	if refusals < 0 || refusals > 2 {
		t.Errorf("%d evictions for %d pods", len(requests), replicas)
	}
}

func TestAPodUnderABudgetThatNeverAllowsItIsNotTried(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	pod := s.pod(s.nodes[0], "a")
	s.budget("web", "web", 1, 1)
	s.evictsAnywhere()

	e := s.evict(s.drainerWith(s.admin), pod)
	e.awaitBlocker(drain.BudgetImpossible, "web")
	s.wantEvictions(map[int]int{})
	s.patchBudget("web", `{"spec":{"minAvailable":0}}`)
	s.must(e.end())
	s.wantEvictions(map[int]int{201: 1})
}

func TestAPodThatIsGivenBackIsNotEvicted(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	kept, other := s.pod(s.nodes[0], "kept"), s.pod(s.nodes[0], "other")
	s.budget("web", "web", 2, 2)
	s.evictsAnywhere()

	d := s.drainerWith(s.admin)
	a, b := s.evict(d, kept), s.evict(d, other)
	a.awaitBlocker(drain.BudgetImpossible, "web")
	why := errors.New("nobody wants it gone any more")
	a.cancel(why)
	if err := a.end(); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	s.patchBudget("web", `{"spec":{"minAvailable":0}}`)
	s.must(b.end())
	if got := s.getPod("kept"); got == nil || got.DeletionTimestamp != nil {
		t.Errorf("the pod is %+v", got)
	}
	s.wantEvictions(map[int]int{201: 1})
}

func TestAPodThatHasTakenTheNameIsNotTouched(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	_, err := s.admin.AppsV1().StatefulSets(s.namespace).Create(s.ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Template: template("db", s.nodes),
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.awaitPod("db-0", "ready", isReady)
	first := s.getPod("db-0")
	s.evictsAnywhere()

	d := s.drainerWith(s.admin)
	s.must(s.evict(d, first).end())
	s.awaitPod("db-0", "another, and ready", func(p *corev1.Pod) bool { return p.UID != first.UID && podutils.IsPodReady(p) })
	second := s.getPod("db-0")
	s.must(s.evict(d, first).end())
	if got := s.getPod("db-0"); got.UID != second.UID || got.DeletionTimestamp != nil {
		t.Errorf("the replacement is %s, being deleted: %s; it was %s", got.UID, got.DeletionTimestamp, second.UID)
	}
	s.wantEvictions(map[int]int{201: 1})
}

// A pod that the watch may not have shown yet is not taken for one that is gone.
func TestAPodThatWasStartedAMomentAgoIsEvicted(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	held := s.pod(s.nodes[0], "held", labelled("held"))
	s.budget("held", "held", 1, 1)
	s.evictsAnywhere()

	d := s.drainerWith(s.admin)
	e := s.evict(d, held) // keeps the watches of the namespace open
	e.awaitBlocker(drain.BudgetImpossible, "held")
	for i := range 8 {
		pod := s.create(s.nodes[0], fmt.Sprintf("young-%d", i))
		s.must(s.evict(d, pod).end())
		if got := s.getPod(pod.Name); got != nil {
			t.Errorf("pod %s is still there", pod.Name)
		}
	}
	s.wantEvictions(map[int]int{201: 8})
}

// One watch of the pods, one of the budgets, and an eviction for each pod.
func TestManyPodsTakeOneRequestEach(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	const many, budgets = 200, 4
	var pods []*corev1.Pod
	for i := range many {
		app := fmt.Sprintf("app-%d", i%(2*budgets)) // half of the pods have no budget
		pods = append(pods, s.create(s.nodes[i%2], fmt.Sprintf("pod-%d", i), labelled(app)))
	}
	for _, pod := range pods {
		s.awaitPod(pod.Name, "ready", isReady)
	}
	for i := range budgets {
		s.budget(fmt.Sprintf("budget-%d", i), fmt.Sprintf("app-%d", i), 0, many/budgets/2)
	}
	s.evictsAnywhere()

	const mover = "mover-of-many"
	d := s.drainerWith(s.as(t, rest.ImpersonationConfig{UserName: mover, Groups: []string{"system:masters", "system:authenticated"}}))
	began := time.Now()
	var trips []*trip
	for _, pod := range pods {
		trips = append(trips, s.evict(d, pod))
	}
	for _, e := range trips {
		s.must(e.end())
	}
	t.Logf("%d pods gone in %s", many, time.Since(began))
	got, counted := map[string]int{}, map[string]bool{}
	for _, r := range s.requests(t, func(r request) bool { return r.ImpersonatedUser.Username == mover }) {
		if !counted[r.AuditID] {
			counted[r.AuditID] = true
			got[strings.TrimRight(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")]++
		}
	}
	refused := got["create pods/eviction"] - many // by a budget's controller that has changed its mind meanwhile
	if refused < 0 || refused > budgets {
		t.Errorf("%d evictions were asked for", got["create pods/eviction"])
	}
	delete(got, "create pods/eviction")
	if diff := cmp.Diff(map[string]int{"watch pods": 1}, got); diff != "" {
		t.Errorf("other requests (-want, +got):\n%s", diff)
	}
}
