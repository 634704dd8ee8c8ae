// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// withStatics is a drain of all pods, with the static ones, whose removal is the same for all.
func withStatics(removal Removal, pods ...*corev1.Pod) facts {
	f := calm()
	f.request.Targets = []Target{{PodType: PodTypeDefault}, {PodType: PodTypeStatic}}
	f.pods, f.statics = pods, map[types.UID]Removal{}
	f.turns = map[types.UID]time.Time{}
	for _, pod := range pods {
		if isMirror(pod) {
			f.statics[pod.UID] = removal
		}
	}
	return f
}

func TestStaticPodsLeaveWhenAllOthersHave(t *testing.T) {
	static := func(change ...func(*corev1.Pod)) *corev1.Pod { return newPod("static", append(change, mirror)...) }
	going := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon.Add(time.Minute)} }
	grace := func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(5)) }
	for name, tc := range map[string]struct {
		removal Removal
		pods    []*corev1.Pod
		change  func(*facts)
		// want is the pods that are to be taken away, and the reason that is shown of one.
		want    []string
		blocker Reason
		left    Reason
		moving  int
	}{
		"alone":                            {removal: Removal{Able: true}, pods: []*corev1.Pod{static()}, want: []string{"static"}, moving: 1},
		"a pod is still to be evicted":     {removal: Removal{Able: true}, pods: []*corev1.Pod{static(), newPod("a")}, moving: 1},
		"a pod is ending":                  {removal: Removal{Able: true}, pods: []*corev1.Pod{static(), newPod("a", going)}, moving: 1},
		"a pod of those who drain remains": {removal: Removal{Able: true}, pods: []*corev1.Pod{static(), newPod("a", func(p *corev1.Pod) { p.Namespace = "slipway-system" })}},
		"a pod has had its time, and is there": {
			removal: Removal{Able: true}, pods: []*corev1.Pod{static(), newPod("a", going)},
			change: func(f *facts) { f.request.PodTimeout, f.turns["uid-a"] = time.Minute, noon.Add(-time.Hour) }, blocker: PodTimedOut,
		},
		"one of a lower priority goes first": {
			removal: Removal{Able: true}, pods: []*corev1.Pod{static(), newPod("low", mirror, priority(-1))}, want: []string{"low"}, moving: 1,
		},
		"nobody takes it away":             {removal: Removal{Trouble: "no process removes static pods"}, pods: []*corev1.Pod{static()}, blocker: StaticPodStays},
		"there is trouble":                 {removal: Removal{Able: true, Trouble: "t"}, pods: []*corev1.Pod{static()}, want: []string{"static"}, blocker: StaticPodStays},
		"it is not to go":                  {removal: Removal{Left: "l"}, pods: []*corev1.Pod{static()}, left: StaticPodLeft},
		"a rule skips it":                  {removal: Removal{Able: true}, pods: []*corev1.Pod{static()}, change: skipAll, left: PodSkipped},
		"a rule wants it to end by itself": {removal: Removal{Able: true}, pods: []*corev1.Pod{static()}, change: awaitAll, want: []string{"static"}, moving: 1},
		"somebody deletes its mirror":      {removal: Removal{Able: true}, pods: []*corev1.Pod{static(endingAt(noon.Add(-time.Hour)))}, want: []string{"static"}, moving: 1},
		"it is finished":                   {removal: Removal{Able: true}, pods: []*corev1.Pod{static(phase(corev1.PodSucceeded))}, want: []string{"static"}, moving: 1},
		"its time is not over": {
			removal: Removal{Able: true}, pods: []*corev1.Pod{static(grace)},
			change: func(f *facts) { f.turns["uid-static"] = noon.Add(-24 * time.Second) }, want: []string{"static"}, moving: 1,
		},
		"its time is over": {
			removal: Removal{Able: true}, pods: []*corev1.Pod{static(grace)},
			change: func(f *facts) { f.turns["uid-static"] = noon.Add(-25 * time.Second) }, want: []string{"static"}, blocker: StaticPodStays,
		},
		"the node is not cordoned any more": {
			removal: Removal{Able: true}, pods: []*corev1.Pod{static()},
			change: func(f *facts) { f.node.unschedulable = false }, blocker: NodeNotCordoned,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := withStatics(tc.removal, tc.pods...)
			f.own, f.request.Escalation = "slipway-system", Escalation{DeleteAfter: time.Nanosecond, KillAfter: time.Nanosecond}
			if tc.change != nil {
				tc.change(&f)
			}
			p := decide(f)
			for _, s := range p.evict {
				if isMirror(s.pod) {
					t.Errorf("%s is sent away through the API", s.pod.Name)
				}
			}
			var got []string
			for _, ref := range p.status.Static {
				got = append(got, ref.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("to be taken away are %q, want %q", got, tc.want)
			}
			checkShown(t, "blockers", p.status.Blockers, tc.blocker)
			checkShown(t, "left", p.status.Left, tc.left)
			if tc.moving > 0 && p.status.Moving != tc.moving {
				t.Errorf("%d are moving, want %d", p.status.Moving, tc.moving)
			}
			if over := p.confirm; over != (tc.left != "") {
				t.Errorf("it makes sure that none is left: %t", over)
			}
		})
	}
}

func skipAll(f *facts) { ruleAll(f, Skip) }

func awaitAll(f *facts) { ruleAll(f, WaitCompleted) }

func ruleAll(f *facts, b Behavior) {
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{})
	if err != nil {
		panic(err)
	}
	f.ruled, f.rules = true, map[string][]Rule{"default": {{Name: "all", Pods: selector, Behavior: b}}}
}

// checkShown wants that reason, once, with words; or, where it is empty, none at all.
func checkShown(t *testing.T, what string, shown []Blocker, want Reason) {
	t.Helper()
	if want == "" {
		if len(shown) > 0 {
			t.Errorf("%s: %v", what, shown)
		}
		return
	}
	if len(shown) != 1 || shown[0].Reason != want || !strings.Contains(shown[0].Message, ";") {
		t.Errorf("%s: %+v, want one of %s", what, shown, want)
	}
}

// A pod of a Node that comes back again and again is no workload's.
func TestStaticPodsDoNotRecur(t *testing.T) {
	m := newMemory()
	for range 2 * maxReturns {
		m.saw([]*corev1.Pod{newPod("static", mirror, ownedBy("v1", "Node", true))}, func(types.UID) bool { return false })
		m.saw(nil, func(types.UID) bool { return false })
	}
	if len(m.owners) > 0 {
		t.Errorf("they are counted: %v", m.owners)
	}
}
