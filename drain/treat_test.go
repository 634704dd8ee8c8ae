// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// rule selects app=web, unless it is changed.
func rule(name string, behavior Behavior, change ...func(*Rule)) Rule {
	r := Rule{Name: name, Pods: labels.SelectorFromSet(labels.Set{"app": "web"}), Behavior: behavior}
	for _, c := range change {
		c(&r)
	}
	return r
}

func ofCluster(r *Rule) { r.Cluster = true }

func ordered(order int32) func(*Rule) { return func(r *Rule) { r.Order = order } }

func within(d time.Duration) func(*Rule) { return func(r *Rule) { r.Deadline = d } }

func onNodes(pool string) func(*Rule) {
	return func(r *Rule) { r.Nodes = labels.SelectorFromSet(labels.Set{"pool": pool}) }
}

func labelled(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[BehaviorLabel] = value }
}

func of(change ...func(*corev1.Pod)) []func(*corev1.Pod) { return change }

func forOthers(r *Rule) { r.Pods = labels.SelectorFromSet(labels.Set{"app": "other"}) }

func TestThePrecedenceOfRules(t *testing.T) {
	const short, long = time.Minute, time.Hour
	cases := map[string]struct {
		pod     []func(*corev1.Pod)
		rules   []Rule
		timeout time.Duration
		want    treatment
	}{
		"no rule":                              {want: treatment{behavior: Evict}},
		"a rule for other pods":                {rules: []Rule{rule("a", Skip, forOthers)}, want: treatment{behavior: Evict}},
		"a rule of the namespace":              {rules: []Rule{rule("a", Skip)}, want: treatment{behavior: Skip, rule: "a"}},
		"a rule of the cluster":                {rules: []Rule{rule("a", Skip, ofCluster)}, want: treatment{behavior: Skip, rule: "a"}},
		"the namespace's goes before":          {rules: []Rule{rule("a", Skip, ofCluster), rule("b", Evict, ordered(3))}, want: treatment{behavior: Evict, rule: "b", order: 3}},
		"of the same level, the first by name": {rules: []Rule{rule("b", Skip), rule("a", WaitCompleted)}, want: treatment{behavior: WaitCompleted, rule: "a"}},
		"of the cluster, the first by name":    {rules: []Rule{rule("b", Skip, ofCluster), rule("a", Evict, ofCluster)}, want: treatment{behavior: Evict, rule: "a"}},
		"a deadline of its own":                {rules: []Rule{rule("a", WaitCompleted, within(long))}, want: treatment{behavior: WaitCompleted, rule: "a", deadline: long}},
		"the cluster's caps a longer one": {
			rules: []Rule{rule("a", WaitCompleted, within(long)), rule("b", Evict, ofCluster, within(short))},
			want:  treatment{behavior: WaitCompleted, rule: "a", deadline: short},
		},
		"the cluster's caps one without end": {
			rules: []Rule{rule("a", WaitCompleted), rule("b", Evict, ofCluster, within(short))},
			want:  treatment{behavior: WaitCompleted, rule: "a", deadline: short},
		},
		"the cluster's does not lengthen": {
			rules: []Rule{rule("a", WaitCompleted, within(short)), rule("b", Evict, ofCluster, within(long))},
			want:  treatment{behavior: WaitCompleted, rule: "a", deadline: short},
		},
		"all rules of the cluster cap": {
			rules: []Rule{rule("a", Evict, ofCluster, within(long)), rule("b", Evict, ofCluster, within(short))},
			want:  treatment{behavior: Evict, rule: "a", deadline: short},
		},
		"another rule of the namespace does not cap": {
			rules: []Rule{rule("a", Evict, within(long)), rule("b", Evict, within(short))},
			want:  treatment{behavior: Evict, rule: "a", deadline: long},
		},
		"the request caps":              {rules: []Rule{rule("a", WaitCompleted, within(long))}, timeout: short, want: treatment{behavior: WaitCompleted, rule: "a", deadline: short}},
		"the request does not lengthen": {rules: []Rule{rule("a", WaitCompleted, within(short))}, timeout: long, want: treatment{behavior: WaitCompleted, rule: "a", deadline: short}},
		"the request alone":             {timeout: short, want: treatment{behavior: Evict, deadline: short}},
		"a rule for the node":           {rules: []Rule{rule("a", Skip, onNodes("a"))}, want: treatment{behavior: Skip, rule: "a"}},
		"a rule for other nodes": {
			rules: []Rule{rule("a", Skip, onNodes("b")), rule("b", Evict, ofCluster, onNodes("b"), within(short)), rule("c", Evict, ordered(3))},
			want:  treatment{behavior: Evict, rule: "c", order: 3},
		},
		"a freeze comes before all": {
			pod:   of(labelled("skip")),
			rules: []Rule{rule("z", Freeze, ofCluster), rule("a", Evict, ordered(3))}, want: treatment{behavior: Skip, order: 3, freeze: "z"},
		},
		"the first freeze by name":    {rules: []Rule{rule("b", Freeze, ofCluster), rule("a", Freeze, ofCluster)}, want: treatment{behavior: Evict, freeze: "a"}},
		"a freeze of another node":    {rules: []Rule{rule("a", Freeze, ofCluster, onNodes("b"))}, want: treatment{behavior: Evict}},
		"the pod's label":             {pod: of(labelled("skip")), want: treatment{behavior: Skip}},
		"the pod's label, as a rule":  {pod: of(labelled("WaitCompleted")), want: treatment{behavior: WaitCompleted}},
		"the pod's label, misspelled": {pod: of(labelled("skipp")), rules: []Rule{rule("a", WaitCompleted)}, want: treatment{behavior: WaitCompleted, rule: "a"}},
		"the pod's label goes before a rule, whose order counts, and the cluster's caps it": {
			pod:   of(labelled("wait-completed")),
			rules: []Rule{rule("a", Evict, ordered(3), within(long)), rule("b", Skip, ofCluster, within(short))},
			want:  treatment{behavior: WaitCompleted, order: 3, deadline: short},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := treat(newPod("p", tc.pod...), labels.Set{"pool": "a"}, tc.rules, tc.timeout)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(treatment{})); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func TestOrderMakesSteps(t *testing.T) {
	ofDaemonSet := ownedBy("apps/v1", "DaemonSet", true)
	in := func(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }
	one := func(pod *corev1.Pod, order int32) leaver { return leaver{pod, treatment{order: order}} }
	cases := map[string]struct {
		leaving []leaver
		want    [][]string
	}{
		"nobody":                       {},
		"equals leave together":        {leavers(newPod("b"), newPod("a")), [][]string{{"a", "b"}}},
		"a lower priority first":       {leavers(newPod("a", priority(7)), newPod("b", priority(-1)), newPod("c")), [][]string{{"b"}, {"c"}, {"a"}}},
		"DaemonSets after others":      {leavers(newPod("a", ofDaemonSet), newPod("b", priority(7))), [][]string{{"b"}, {"a"}}},
		"a rule's order before that":   {[]leaver{one(newPod("a", ofDaemonSet), -1), one(newPod("b"), 0), one(newPod("c"), 5)}, [][]string{{"a"}, {"b"}, {"c"}}},
		"those who drain leave last":   {[]leaver{one(newPod("a", in("slipway-system")), -1), one(newPod("b", priority(9)), 5)}, [][]string{{"b"}, {"a"}}},
		"and in steps of their own":    {leavers(newPod("a", in("slipway-system"), priority(1)), newPod("b", in("slipway-system"))), [][]string{{"b"}, {"a"}}},
		"priority within a rule order": {[]leaver{one(newPod("a", priority(5)), 1), one(newPod("b"), 1), one(newPod("c", priority(9)), 0)}, [][]string{{"c"}, {"b"}, {"a"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			for _, step := range order(tc.leaving, "slipway-system") {
				var names []string
				for _, l := range step {
					names = append(names, l.pod.Name)
				}
				got = append(got, names)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
