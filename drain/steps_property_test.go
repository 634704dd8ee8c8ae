// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// TestStepsWaitForEachOther lets the pods of a node come, end and be refused in any order, under any rules. At each
// decision it checks that exactly those pods are sent whose turn it is: none of a later step while one of an earlier step
// is there and has had less than its time, none that a rule skips, none that is waited for, and all others.
func TestStepsWaitForEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &stepModel{memory: newMemory(), now: noon, timeout: drawTime(t, "PodTimeout"), rules: map[string]Rule{}, since: map[types.UID]time.Time{}}
		for _, role := range []string{"batch", "cache", "db"} {
			if rapid.Bool().Draw(t, "rule for "+role) {
				m.rules[role] = drawRule(t, role)
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "pods") {
			m.come(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"decide": func(t *rapid.T) { m.decide(t) },
			"a pod comes": func(t *rapid.T) {
				if len(m.pods) < maxInFlight {
					m.come(t)
				}
			},
			"accept":   func(*rapid.T) { m.land(answer{outcome: accepted}) },
			"refuse":   func(*rapid.T) { m.land(answer{outcome: refused, refusal: &obstacle{reason: EvictionRefused}}) },
			"end":      func(*rapid.T) { m.end() },
			"complete": func(t *rapid.T) { m.complete(rapid.SampledFrom(append(m.pods, nil)).Draw(t, "pod")) },
			"time passes": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{1, 999, 1000, 2000}).Draw(t, "ms")) * time.Millisecond)
			},
			"a minute more": func(*rapid.T) { m.now = m.now.Add(time.Minute) },
		})
		m.calmDown(t)
	})
}

func (m *stepModel) decide(t *rapid.T) plan {
	f := calm()
	f.now, f.own, f.ruled, f.pods = m.now, "own", true, slices.Clone(m.pods)
	f.request = Request{PodTimeout: m.timeout, Targets: []Target{
		{PodType: PodTypeDefault}, {PodType: PodTypeDaemonSet},
	}}
	f.rules = map[string][]Rule{}
	for _, namespace := range []string{"default", "own"} {
		f.budgets[namespace], f.rules[namespace] = nil, []Rule{}
		for _, r := range m.rules {
			f.rules[namespace] = append(f.rules[namespace], r)
		}
	}
	m.saw(f.pods, func(uid types.UID) bool {
		return slices.ContainsFunc(m.pods, func(p *corev1.Pod) bool { return p.UID == uid })
	})
	m.fill(&f)
	want, p := m.due(), decide(f)
	m.keep(p.notes)
	var got []string
	for _, s := range p.evict {
		got = append(got, s.pod.Name)
		m.sent(s)
		m.flying = append(m.flying, s)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("sent %v, and it is the turn of %v", got, want)
	}
	return p
}

// due are the pods that are to be sent now, in the words of the documentation.
func (m *stepModel) due() []string {
	leaving := slices.DeleteFunc(slices.Clone(m.pods), func(p *corev1.Pod) bool {
		needed := p.Namespace == "own" && len(p.OwnerReferences) > 0 && p.Status.Phase == corev1.PodRunning
		return needed || m.rules[p.Labels["role"]].Behavior == Skip
	})
	slices.SortStableFunc(leaving, m.compare)
	var names []string
	turns, open := map[types.UID]time.Time{}, true
	for _, pod := range leaving {
		if since, came := m.since[pod.UID]; came {
			turns[pod.UID] = since
		}
	}
	for i, pod := range leaving {
		if i > 0 && !open && m.compare(leaving[i-1], pod) != 0 {
			break
		}
		if _, came := turns[pod.UID]; !came {
			turns[pod.UID] = m.now
		}
		r := m.rules[pod.Labels["role"]]
		limit := m.timeout
		if limit == 0 || r.Deadline != 0 && r.Deadline < limit {
			limit = r.Deadline
		}
		late := limit != 0 && m.now.Sub(turns[pod.UID]) >= limit
		open = open && late
		try := m.tries[pod.UID]
		awaited := r.Behavior == WaitCompleted && pod.Status.Phase == corev1.PodRunning && !late
		if pod.DeletionTimestamp == nil && !try.inFlight && !m.now.Before(try.notBefore) && !awaited {
			names = append(names, pod.Name)
		}
	}
	m.since = turns
	return names
}

// compare says which pod leaves first.
func (m *stepModel) compare(a, b *corev1.Pod) int {
	rank := func(p *corev1.Pod) []int {
		own, daemonSet := 0, 0
		if p.Namespace == "own" {
			own = 1
		}
		if len(p.OwnerReferences) > 0 && p.Status.Phase == corev1.PodRunning { // a finished one is no DaemonSet's any more
			daemonSet = 1
		}
		return []int{own, int(m.rules[p.Labels["role"]].Order), daemonSet, int(*p.Spec.Priority)}
	}
	return slices.Compare(rank(a), rank(b))
}

// calmDown lets all work end, and expects that nothing is left but what rules skip.
func (m *stepModel) calmDown(t *rapid.T) {
	for range 200 {
		for _, pod := range m.pods {
			m.complete(pod)
		}
		p := m.decide(t)
		for len(m.flying) > 0 {
			m.land(answer{outcome: accepted})
		}
		for range m.pods {
			m.end()
		}
		if len(m.pods) == len(p.status.Left) {
			return
		}
		m.now = m.now.Add(time.Minute)
	}
	t.Fatalf("%d pods do not leave", len(m.pods))
}
