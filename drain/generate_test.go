// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// generated is a world that a seed makes, some nodes of which are drained.
type generated struct {
	*world
	random   *rand.Rand
	requests map[string]Request
	nodes    map[string]nodeFacts
	rules    []Rule
	// frozen are budgets that no controller looks after.
	frozen map[string]bool
	// dark are the pods of a namespace with a rule that cannot be understood.
	dark []*corev1.Pod
	// elsewhere counts pods that have been started in place of others.
	elsewhere int
}

// darkness is the namespace whose rules cannot be understood.
const darkness = "dark"

func generate(seed uint64, draining ...string) *generated {
	g := &generated{
		world: newWorld(draining), random: rand.New(rand.NewPCG(seed, 7)),
		requests: map[string]Request{}, nodes: map[string]nodeFacts{}, frozen: map[string]bool{},
	}
	for _, node := range draining {
		g.nodes[node] = nodeFacts{known: true, exists: true, unschedulable: true, tainted: true, ready: !g.chance(5)}
		g.requests[node] = g.request(node)
	}
	for i := range 3 + g.random.IntN(5) {
		g.app(fmt.Sprintf("app%d", i), append([]string{"w3"}, draining...))
	}
	g.oddities(draining[0])
	g.statics(draining[0], rand.New(rand.NewPCG(seed, 11)))
	return g
}

// generateStatic is a node with static pods, and at most one other.
func generateStatic(seed uint64) *generated {
	const node = "w1"
	g := &generated{
		world: newWorld([]string{node}), random: rand.New(rand.NewPCG(seed, 7)),
		requests: map[string]Request{node: {NodeName: node}}, frozen: map[string]bool{},
	}
	g.nodes = map[string]nodeFacts{node: {known: true, exists: true, unschedulable: true, tainted: true, ready: !g.chance(5)}}
	if g.chance(2) {
		g.write(newPod("other", func(p *corev1.Pod) { p.OwnerReferences = controlledBy("apps/v1", "ReplicaSet", "other") }))
	}
	for range 3 { // more of them, more often
		g.statics(node, g.random)
	}
	return g
}

// statics are pods that the kubelet runs from files. A request may ask for them.
func (g *generated) statics(node string, random *rand.Rand) {
	r := g.requests[node]
	asked := slices.ContainsFunc(r.Targets, func(t Target) bool { return t.PodType == PodTypeStatic })
	if !asked && random.IntN(3) == 0 {
		if len(r.Targets) == 0 {
			r.Targets = []Target{{PodType: PodTypeDefault}}
		}
		r.Targets = append(r.Targets, Target{PodType: PodTypeStatic})
		g.requests[node] = r
	}
	for _, name := range []string{"static-goes", "static-left", "static-stays"} {
		there := slices.ContainsFunc(g.pods, func(p *corev1.Pod) bool { return p.Name == name })
		if !there && random.IntN(4) == 0 {
			g.write(newPod(name, mirror, func(p *corev1.Pod) { p.Labels["app"], p.Spec.NodeName = name, node }))
		}
	}
}

// chance is true once in n times.
func (g *generated) chance(n int) bool { return g.random.IntN(n) == 0 }

func (g *generated) request(node string) Request {
	r := Request{NodeName: node}
	r.RefuseUnmanaged, r.RefuseLocalStorage = g.chance(8), g.chance(8)
	if g.chance(3) {
		r.PodTimeout = 30 * time.Minute
	}
	if g.chance(3) {
		r.Escalation.DeleteAfter = 20 * time.Minute
	}
	if g.chance(6) {
		r.Escalation.KillAfter = 20 * time.Second
	}
	if g.chance(3) {
		r.Targets = []Target{{PodType: PodTypeDefault, PodPriority: new(int32(1000))}}
		if g.chance(2) {
			r.Targets = append(r.Targets, Target{PodType: PodTypeDaemonSet})
		}
	}
	return r
}

// app is a workload, which may have a budget, a priority and a rule.
func (g *generated) app(name string, nodes []string) {
	replicas, kind := 1+g.random.IntN(6), g.random.IntN(8)
	if kind == 1 {
		replicas = len(nodes)
	}
	prio := []int32{0, 0, 1000, 2000}[g.random.IntN(4)]
	for i := range replicas {
		pod := newPod(fmt.Sprintf("%s-%d", name, i), priority(prio), func(p *corev1.Pod) {
			p.UID = types.UID(fmt.Sprintf("%x-%s", g.random.Uint32(), p.Name))
			p.Labels["app"], p.Spec.NodeName = name, nodes[g.random.IntN(len(nodes))]
		})
		switch kind {
		case 0: // nobody starts it again
		case 1:
			pod.OwnerReferences, pod.Spec.NodeName = controlledBy("apps/v1", "DaemonSet", name), nodes[i]
		default:
			pod.OwnerReferences = controlledBy("apps/v1", "ReplicaSet", name)
		}
		g.vary(pod)
		g.write(pod)
	}
	g.budgetFor(name, int32(replicas))
	g.ruleFor(name)
}

func controlledBy(version, kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: version, Kind: kind, Name: name, UID: types.UID("owner-" + name), Controller: new(true),
	}}
}

// vary makes some pods unusual.
func (g *generated) vary(pod *corev1.Pod) {
	switch g.random.IntN(12) {
	case 0:
		unready(pod)
	case 1:
		phase(corev1.PodPending)(pod)
		unready(pod)
	case 2:
		phase(corev1.PodSucceeded)(pod)
		unready(pod)
	case 3, 4:
		pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
}

func (g *generated) budgetFor(app string, replicas int32) {
	switch g.random.IntN(7) {
	case 0, 1:
		return
	case 2:
		g.protect(app, app, replicas) // impossible, if all are healthy
	case 3:
		g.protect(app, app, g.random.Int32N(replicas+1))
		g.protect(app+"-too", app, 0)
	case 4:
		g.protect(app, app, g.random.Int32N(replicas+1))
		g.freeze(app, func(b *policyv1.PodDisruptionBudget) { b.Generation++ })
	case 5:
		g.protect(app, app, g.random.Int32N(replicas+1))
		g.freeze(app, func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed = 0
			b.Status.Conditions = []metav1.Condition{{
				Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
			}}
		})
	default:
		g.protect(app, app, max(0, replicas-1-g.random.Int32N(2)))
	}
}

// freeze changes a budget once, and then leaves it as it is.
func (g *generated) freeze(app string, change func(*policyv1.PodDisruptionBudget)) {
	b := g.budget(app).DeepCopy()
	change(b)
	g.writeBudget(b)
	g.frozen[app] = true
}

func (g *generated) ruleFor(app string) {
	r := Rule{Name: "rule-" + app, Pods: labels.SelectorFromSet(labels.Set{"app": app}), Behavior: Evict}
	switch g.random.IntN(8) {
	case 0:
		r.Behavior = Skip
	case 1:
		r.Behavior = WaitCompleted
	case 2:
		r.Behavior, r.Deadline = WaitCompleted, 40*time.Minute
	case 3:
		r.Order = g.random.Int32N(3) - 1
	default:
		return
	}
	g.rules = append(g.rules, r)
}

// oddities are pods that no workload has.
func (g *generated) oddities(node string) {
	add := func(name string, change ...func(*corev1.Pod)) {
		if !g.chance(4) {
			return
		}
		g.write(newPod(name, append(change, func(p *corev1.Pod) { p.Labels["app"], p.Spec.NodeName = name, node })...))
	}
	add("static", mirror)
	add("going", endingAt(noon.Add(30*time.Second)))
	add("overdue", endingAt(noon.Add(-time.Minute)), finalizers("example.com/held"))
	if g.chance(4) {
		g.dark = []*corev1.Pod{newPod("in-the-dark", func(p *corev1.Pod) {
			p.Namespace, p.Spec.NodeName, p.OwnerReferences = darkness, node, controlledBy("apps/v1", "ReplicaSet", "x")
		})}
		g.write(g.dark[0])
	}
}

// snapshot is what somebody reads who wants to know beforehand.
func (g *generated) snapshot() Snapshot {
	s := Snapshot{
		Budgets: map[string][]*policyv1.PodDisruptionBudget{"default": g.budgets},
		Rules:   map[string][]Rule{"default": g.rules}, StaticPods: staticByName,
	}
	if len(g.dark) > 0 {
		s.BadRules = map[string]error{darkness: errDark}
	}
	for _, d := range g.drains {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: d.node}}
		if g.nodes[d.node].ready {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}
		s.Nodes = append(s.Nodes, NodeSnapshot{Node: node, Pods: g.pods, Request: g.requests[d.node]})
	}
	return s
}

// staticByName is somebody who takes static pods away, and says in their names what becomes of them.
func staticByName(_ *corev1.Node, pod *corev1.Pod) Removal {
	switch pod.Name {
	case "static-left":
		return Removal{Left: "it is to stay"}
	case "static-stays":
		return Removal{Able: true, Trouble: "it cannot be taken away"}
	default:
		return Removal{Able: true}
	}
}

var errDark = fmt.Errorf("%w: %w", ErrBadRule, errors.New("it is dark"))
