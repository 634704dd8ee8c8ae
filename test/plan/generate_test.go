// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-k8s/slipway/drain"
)

// generated is a cluster that a seed makes. Nodes w1, or w1 and w2, are drained; w3 and w4
// have room; w5 is for pods that tolerate it.
type generated struct {
	*simulation
	random   *rand.Rand
	draining []string
	requests map[string]drain.Request
	rules    []drain.Rule
	dark     bool
}

const (
	special = "special"
	// dark is a namespace with a rule that cannot be understood.
	dark = "dark"
)

func generate(s *simulation, seed uint64) *generated {
	g := &generated{simulation: s, random: rand.New(rand.NewPCG(seed, 11)), draining: []string{"w1"}, requests: map[string]drain.Request{}}
	if seed%4 == 3 {
		g.draining = append(g.draining, "w2")
	}
	reports, request := !g.chance(5), g.request()
	for _, name := range g.draining {
		g.node(name, reports, func(n *corev1.Node) { n.Labels["pool"] = special })
		request.NodeName = name
		g.requests[name] = request
	}
	g.node("w3", true)
	g.node("w4", true)
	g.node("w5", true, func(n *corev1.Node) {
		n.Labels["pool"] = special
		n.Spec.Taints = []corev1.Taint{{Key: special, Effect: corev1.TaintEffectNoSchedule}}
	})
	kinds := []func(string){g.service, g.service, g.service, g.service, g.bare, g.daemon, g.alone, g.special}
	for i := range 3 + g.random.IntN(5) {
		kinds[g.random.IntN(len(kinds))](fmt.Sprintf("app%d", i))
	}
	if g.chance(3) {
		g.cramped("cramped")
	}
	g.oddities()
	return g
}

// chance is true once in n times.
func (g *generated) chance(n int) bool { return g.random.IntN(n) == 0 }

func (g *generated) node(name string, ready bool, change ...func(*corev1.Node)) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10"), corev1.ResourcePods: resource.MustParse("100")}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if !ready {
		n.Status.Conditions[0].Status = corev1.ConditionUnknown
	}
	for _, f := range change {
		f(n)
	}
	g.store(n)
}

// contested tells that two drains may want what is there for one of them. Which of them gets
// it is a matter of chance, and so is all that follows: a test of what is foretold has none
// of it. They share a budget only while each pod that leaves is replaced.
func (g *generated) contested() bool { return len(g.draining) > 1 }

func (g *generated) request() drain.Request {
	r := drain.Request{RefuseUnmanaged: g.chance(8), RefuseLocalStorage: g.chance(8)}
	if g.chance(3) {
		r.PodTimeout = 30 * time.Minute
	}
	if g.chance(3) {
		r.Escalation.DeleteAfter = 20 * time.Minute
	}
	if g.chance(6) {
		r.Escalation.KillAfter = 20 * time.Second
	}
	if g.chance(6) {
		r.GracePeriodSeconds = new(int64(5))
	}
	if g.chance(3) {
		r.Targets = []drain.Target{{PodType: drain.PodTypeDefault, PodPriority: new(int32(1000))}}
		if g.chance(2) {
			r.Targets = append(r.Targets, drain.Target{PodType: drain.PodTypeDaemonSet})
		}
	}
	return r
}

// service is a workload of usual and unusual pods.
func (g *generated) service(app string) {
	replicas, priority := 1+g.random.IntN(6), g.priority()
	for i := range replicas {
		g.pod(app, i, g.somewhere(), controlledBy("ReplicaSet", app), priority, g.vary)
	}
	g.guard(app, int32(replicas))
	g.rule(app)
}

// bare pods are started by nobody again.
func (g *generated) bare(app string) {
	replicas := 1 + g.random.IntN(3)
	for i := range replicas {
		g.pod(app, i, g.somewhere(), g.vary)
	}
	if !g.contested() && g.chance(2) {
		g.budget(app, app, func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MinAvailable = new(intstr.FromInt(g.random.IntN(replicas + 1)))
		})
	}
	g.rule(app)
}

// daemon is a DaemonSet.
func (g *generated) daemon(app string) {
	for i, node := range append([]string{"w3", "w4"}, g.draining...) {
		g.pod(app, i, node, controlledBy("DaemonSet", app), func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable}}
		})
	}
	g.rule(app)
}

// alone has at most one pod on a node.
func (g *generated) alone(app string) {
	nodes := append([]string{"w3"}, g.draining...)[g.random.IntN(2):]
	for i, node := range nodes {
		g.pod(app, i, node, controlledBy("ReplicaSet", app), func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
				}},
			}}
		})
	}
	g.guardUnlessContested(app, int32(len(nodes)))
}

// special wants the nodes of a pool, of which one is tainted. Some of the pods tolerate that.
func (g *generated) special(app string) {
	replicas, tolerant := 1+g.random.IntN(4), g.chance(2)
	for i := range replicas {
		g.pod(app, i, g.draining[g.random.IntN(len(g.draining))], controlledBy("ReplicaSet", app), func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"pool": special}
			if tolerant {
				p.Spec.Tolerations = []corev1.Toleration{{Key: special, Operator: corev1.TolerationOpExists}}
			}
		})
	}
	g.guardUnlessContested(app, int32(replicas))
}

// cramped has pods so large that two fit on a node.
func (g *generated) cramped(app string) {
	replicas := 2 + g.random.IntN(3)
	for i := range replicas {
		node := g.draining[g.random.IntN(len(g.draining))]
		if i < 2 {
			node = "w3"
		}
		g.pod(app, i, node, controlledBy("ReplicaSet", app), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		})
	}
	g.guardUnlessContested(app, int32(replicas))
}

func (g *generated) somewhere() string {
	return append([]string{"w3"}, g.draining...)[g.random.IntN(1+len(g.draining))]
}

func (g *generated) priority() func(*corev1.Pod) {
	p := []int32{0, 0, 1000, 2000}[g.random.IntN(4)]
	return func(pod *corev1.Pod) { pod.Spec.Priority = &p }
}

// pod is a ready pod, unless it is changed.
func (g *generated) pod(app string, i int, node string, change ...func(*corev1.Pod)) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%d", app, i), UID: types.UID(fmt.Sprintf("%x-%s-%d", g.random.Uint32(), app, i)),
			Labels: map[string]string{"app": app},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
	}
	makeReady(pod)
	for _, f := range change {
		f(pod)
	}
	g.store(pod)
	g.scale[app]++
}

func controlledBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("owner-" + name), Controller: new(true),
		}}
	}
}

// vary makes some pods unusual.
func (g *generated) vary(pod *corev1.Pod) {
	switch g.random.IntN(12) {
	case 0:
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
	case 1:
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	case 2:
		pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded}
	case 3, 4:
		pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
}

func (g *generated) guardUnlessContested(app string, replicas int32) {
	if !g.contested() {
		g.guard(app, replicas)
	}
}

// guard gives an app a budget, or two, or none.
func (g *generated) guard(app string, replicas int32) {
	some := func(s *policyv1.PodDisruptionBudgetSpec) {
		s.MinAvailable = new(intstr.FromInt32(g.random.Int32N(replicas + 1)))
	}
	switch g.random.IntN(9) {
	case 0, 1:
	case 2:
		g.budget(app, app, func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromInt32(replicas)) })
	case 3:
		g.budget(app, app, some)
		g.budget(app+"-too", app, some)
	case 4:
		g.freeze(g.budget(app, app, some), func(b *policyv1.PodDisruptionBudget) { b.Generation++ })
	case 5:
		g.freeze(g.budget(app, app, some), func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed = 0
			b.Status.Conditions = []metav1.Condition{{
				Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
			}}
		})
	case 6:
		g.budget(app, app, func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MaxUnavailable = new(intstr.FromInt32(g.random.Int32N(2)))
		})
	case 7:
		g.budget(app, app, func(s *policyv1.PodDisruptionBudgetSpec) {
			some(s)
			s.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		})
	default:
		g.budget(app, app, func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromInt32(1)) })
	}
}

func (g *generated) budget(name, app string, change func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("budget-" + name), Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
	change(&b.Spec)
	g.countBudget(b)
	return g.budgets[name]
}

// freeze changes a budget once, and then leaves it as it is.
func (g *generated) freeze(b *policyv1.PodDisruptionBudget, change func(*policyv1.PodDisruptionBudget)) {
	b = b.DeepCopy()
	change(b)
	g.store(b)
	g.frozen[b.Name] = true
}

func (g *generated) rule(app string) {
	r := drain.Rule{Name: "rule-" + app, Pods: labels.SelectorFromSet(labels.Set{"app": app}), Behavior: drain.Evict}
	switch g.random.IntN(8) {
	case 0:
		r.Behavior = drain.Skip
	case 1:
		r.Behavior = drain.WaitCompleted
	case 2:
		r.Behavior, r.Deadline = drain.WaitCompleted, 40*time.Minute
	case 3:
		r.Order = g.random.Int32N(3) - 1
	default:
		return
	}
	g.rules = append(g.rules, r)
}

// oddities are pods that no workload has.
func (g *generated) oddities() {
	node := g.draining[0]
	odd := func(name string, change func(*corev1.Pod)) {
		if g.chance(4) {
			g.pod(name, 0, node, change)
		}
	}
	odd("static", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	odd("going", func(p *corev1.Pod) { goingSince(p, 0) })
	odd("overdue", func(p *corev1.Pod) { goingSince(p, 2*time.Minute); p.Finalizers = []string{"example.com/held"} })
	odd("unseen", func(p *corev1.Pod) { p.Namespace = dark; controlledBy("ReplicaSet", "unseen")(p); g.dark = true })
}

// goingSince makes a pod one that is being deleted, with 30 s to end.
func goingSince(p *corev1.Pod, ago time.Duration) {
	p.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(30*time.Second - ago)}
	p.DeletionGracePeriodSeconds = new(int64(30))
}
