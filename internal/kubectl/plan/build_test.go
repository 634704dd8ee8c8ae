// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// node is a ready node with a name, 4 CPUs, 10 pods, and labels as in "zone=a".
func node(name string, labels ...string) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		n.Labels[key] = value
	}
	return n
}

func tainted(n *corev1.Node, effect corev1.TaintEffect) *corev1.Node {
	n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: effect}}
	return n
}

func cordoned(n *corev1.Node) *corev1.Node {
	n.Spec.Unschedulable = true
	return n
}

// pod is a ready pod of ReplicaSet app, on a node.
func pod(app, on string, change ...func(*corev1.Pod)) *corev1.Pod {
	serial++
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-%d", app, serial), UID: types.UID(fmt.Sprint(serial)), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: new(true),
			}},
		},
		Spec: corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

var serial int

func cpu(amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
}

func selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func apartFrom(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selecting(app)}},
		}}
	}
}

func beside(app, key string, change ...func(*corev1.PodAffinityTerm)) func(*corev1.Pod) {
	term := corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selecting(app)}
	for _, f := range change {
		f(&term)
	}
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
}

func spreadBy(key string, change ...func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		t := corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting(p.Labels["app"]),
		}
		for _, f := range change {
			f(&t)
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{t}
	}
}

// facts are those of a drain of node w0, which is the first of the nodes.
func facts(nodes []*corev1.Node, pods ...*corev1.Pod) Facts {
	return Facts{
		Now: noon, Nodes: nodes, Pods: pods,
		Drains: drain.Snapshot{Nodes: []drain.NodeSnapshot{{Node: nodes[0], Pods: pods}}},
	}
}

func (f Facts) with(change func(*Facts)) Facts {
	change(&f)
	return f
}

func budget(app string, allowed, healthy int32) func(*Facts) {
	return func(f *Facts) {
		f.Drains.Budgets = map[string][]*policyv1.PodDisruptionBudget{"shop": {{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: app},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selecting(app)},
			Status: policyv1.PodDisruptionBudgetStatus{
				DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: healthy - allowed, ExpectedPods: healthy,
			},
		}}}
	}
}

// plan gives the pods of w0 with where their replacements run, in a line each.
func planned(t *testing.T, f Facts) []string {
	t.Helper()
	p, err := Plan(f)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range p.Nodes {
		for _, pod := range n.Pods {
			app, _, _ := strings.Cut(pod.Name, "-")
			line := fmt.Sprintf("%s: %s", app, pod.Verdict)
			switch r := pod.Replacement; {
			case r == nil:
			case r.Node != "":
				line += ", then on " + r.Node
			default:
				line += ", then nowhere"
				for _, o := range r.Obstacles {
					line += fmt.Sprintf("; %d %s", o.Nodes, o.Why)
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}
