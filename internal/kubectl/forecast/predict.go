// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// predictor predicts the drains of one batch after the other. Each starts with the current cluster,
// with the cordoned nodes of the maintenance in service.
type predictor struct {
	facts   Facts
	request drain.Request
	look    maintenance.Outlook

	nodes    map[string]*corev1.Node
	pods     map[string][]*corev1.Pod
	rollouts map[string]rollout.Node
	stock    *plan.Stock
	// notLookedAt are the influences that the predictions ignore.
	notLookedAt []string
}

func newPredictor(f Facts, request drain.Request, look maintenance.Outlook) *predictor {
	p := &predictor{
		facts: f, request: request, look: look, notLookedAt: slices.Clone(plan.Ignored),
		nodes: map[string]*corev1.Node{}, pods: map[string][]*corev1.Pod{}, rollouts: map[string]rollout.Node{},
	}
	for _, n := range f.Cluster.Nodes {
		p.nodes[n.Name] = n
	}
	for _, pod := range f.Cluster.Pods {
		p.pods[pod.Spec.NodeName] = append(p.pods[pod.Spec.NodeName], pod)
	}
	for _, n := range look.Rollout.Nodes {
		p.rollouts[n.Name] = n
	}
	return p
}

func (p *predictor) batch(number int, r round) (Batch, error) {
	batch := Batch{Number: number, Condition: r.condition}
	for _, name := range r.names {
		n := p.rollouts[name]
		batch.Nodes = append(batch.Nodes, Node{
			Name: name, Domain: n.Domain, ControlPlane: n.ControlPlane, Leased: p.look.Nodes[name].Leased, Notes: p.notes(n),
		})
	}
	if p.facts.Cluster.Pods == nil {
		return batch, nil
	}
	prediction, err := plan.Plan(p.drains(number, r.names))
	if err != nil {
		return Batch{}, fmt.Errorf("predict batch %d: %w", number, err)
	}
	for i, n := range prediction.Nodes {
		batch.Nodes[i].Drain = drainOf(n)
	}
	for _, text := range prediction.NotLookedAt {
		if !slices.Contains(p.notLookedAt, text) {
			p.notLookedAt = append(p.notLookedAt, text)
		}
	}
	if all := prediction.Replacements; all != nil {
		batch.Replacements = &plan.Replacements{Total: all.Total, Nowhere: all.Nowhere}
	}
	return batch, nil
}

// drains are the nodes of a batch that are drained together.
func (p *predictor) drains(number int, names []string) plan.Facts {
	f := p.facts.Cluster
	f.Drains.Nodes = nil
	for _, name := range names {
		f.Drains.Nodes = append(f.Drains.Nodes, drain.NodeSnapshot{Node: p.nodes[name], Pods: p.pods[name], Request: p.request})
	}
	switch number {
	case 1:
		p.stock = plan.NewStock(f.Nodes, f.Pods)
	case 2:
		p.backAgain()
	}
	f.Nodes, f.Stock = p.facts.Cluster.Nodes, p.stock
	return f
}

// backAgain uncordons the nodes that were drained when the first batch started.
func (p *predictor) backAgain() {
	nodes := slices.Clone(p.facts.Cluster.Nodes)
	for i, n := range nodes {
		if p.rollouts[n.Name].State == rollout.Out {
			nodes[i] = uncordoned(n)
		}
	}
	p.facts.Cluster.Nodes, p.stock = nodes, plan.NewStock(nodes, p.facts.Cluster.Pods)
}

func uncordoned(n *corev1.Node) *corev1.Node {
	n = n.DeepCopy()
	n.Spec.Unschedulable = false
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	return n
}

func drainOf(n plan.Node) *Drain {
	d := &Drain{Pods: len(n.Pods)}
	for _, pod := range n.Pods {
		if pod.Leaves() || pod.Blocks() || pod.Verdict == drain.Behind {
			d.Leave++
		}
		if pod.Blocks() {
			d.block(pod)
		}
	}
	return d
}

// block joins the pods that have the same blocker.
func (d *Drain) block(pod plan.Pod) {
	name := pod.Namespace + "/" + pod.Name
	for i, b := range d.Blockers {
		if b.Reason == pod.Reason && b.By == pod.By && b.Message == pod.Message {
			d.Blockers[i].Pods = append(d.Blockers[i].Pods, name)
			return
		}
	}
	d.Blockers = append(d.Blockers, Blocker{Reason: pod.Reason, By: pod.By, Message: pod.Message, Pods: []string{name}})
}

// impossible returns the budgets that never allow the evictions of the batches.
func impossible(batches []Batch) []Impossible {
	found := map[string]*Impossible{}
	for _, batch := range batches {
		for _, n := range batch.Nodes {
			if n.Drain == nil {
				continue
			}
			for _, b := range n.Drain.Blockers {
				if b.Reason == drain.BudgetImpossible || b.Reason == drain.MultipleBudgets {
					note(found, n.Name, b)
				}
			}
		}
	}
	var all []Impossible
	for _, key := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[key])
	}
	return all
}

// note adds a blocker that never ends by itself. Its pods may be of several namespaces, each
// with a budget of that name.
func note(found map[string]*Impossible, node string, b Blocker) {
	for _, pod := range b.Pods {
		namespace, _, _ := strings.Cut(pod, "/")
		key := namespace + "/" + b.By
		i := found[key]
		if i == nil {
			i = &Impossible{Namespace: namespace, Budgets: b.By, Reason: b.Reason, Message: b.Message}
			found[key] = i
		}
		i.Pods++
		if !slices.Contains(i.Nodes, node) {
			i.Nodes = append(i.Nodes, node)
		}
	}
}

// notes are special circumstances of a node that starts.
func (p *predictor) notes(n rollout.Node) []string {
	var notes []string
	s := p.look.Nodes[n.Name]
	if !s.Ready {
		notes = append(notes, "it is not Ready already, so it counts as out")
	}
	switch {
	case len(s.Others) > 0:
		notes = append(notes, "NodeMaintenance "+strings.Join(s.Others, ", ")+" has it already; it starts when it can join that drain, or after its return")
	case n.Down && s.Ready:
		notes = append(notes, "it is cordoned for another event of Slipway, so it counts as out")
	}
	if s.Ahead {
		notes = append(notes, "its drain is further than this plan begins (fast-forward)")
	}
	return notes
}

// assumed are the simplifications of a forecast.
func assumed(together bool) []string {
	all := []string{
		"how long nodes take: a batch is shown as if all of its nodes returned together, and healthy; the next node begins as soon as one may",
		"what earlier batches move: each batch starts with the current pods of all nodes",
		"hooks, work and other maintenances that begin meanwhile, and whether nodes are healthy when they return",
	}
	if together {
		all = all[1:]
	}
	return all
}
