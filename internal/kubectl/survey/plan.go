// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	drainrules "github.com/slipway-k8s/slipway/internal/drainer/rules"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
)

// planning is one reading for a plan.
type planning struct {
	r     Reader
	facts plan.Facts
	rules []slipwayv1alpha1.DrainRule
	own   string
}

// Plan reads the facts of a plan: equal drains of these nodes. It fails if a node does not exist,
// or if the caller may not read the pods of the nodes. The facts name other missing permissions.
func (r Reader) Plan(ctx context.Context, now time.Time, nodes []string, request drain.Request) (plan.Facts, error) {
	p := &planning{r: r, facts: plan.Facts{Now: now}}
	for _, read := range []func(context.Context) error{
		func(ctx context.Context) error { return p.nodes(ctx, nodes, request) },
		p.home, p.pods, p.namespaces, p.drainRules, p.budgets, p.volumes,
	} {
		if err := read(ctx); err != nil {
			return plan.Facts{}, err
		}
	}
	p.applyRules()
	return p.facts, nil
}

// Drains reads the facts of equal drains of these nodes, without their budgets and without all other nodes. It fails like
// Plan.
func (r Reader) Drains(ctx context.Context, nodes []string, request drain.Request) (drain.Snapshot, error) {
	p := &planning{r: r}
	for _, name := range nodes {
		node, err := p.node(ctx, name)
		switch {
		case err != nil:
			return drain.Snapshot{}, err
		case node == nil:
			return drain.Snapshot{}, NoSuchNodeError{name}
		}
		p.facts.Drains.Nodes = append(p.facts.Drains.Nodes, drain.NodeSnapshot{Node: node, Request: request})
	}
	for _, read := range []func(context.Context) error{p.home, p.pods, p.namespaces, p.drainRules} {
		if err := read(ctx); err != nil {
			return drain.Snapshot{}, err
		}
	}
	p.applyRules()
	return p.facts.Drains, nil
}

// unsure records a missing permission. It returns other errors.
func (p *planning) unsure(err error, what, effect string) error {
	if isRefused(err) {
		p.facts.Unread = append(p.facts.Unread, fmt.Sprintf("%s cannot be read, so %s (%s)", what, effect, why(err)))
		return nil
	}
	return fmt.Errorf("read %s: %w", what, err)
}

func isRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// nodes reads all nodes, or otherwise the named ones.
func (p *planning) nodes(ctx context.Context, names []string, request drain.Request) error {
	by := map[string]*corev1.Node{}
	err := each[corev1.NodeList](ctx, p.r.Client, func(o *corev1.Node) {
		p.facts.Nodes = append(p.facts.Nodes, o)
		by[o.Name] = o
	})
	all := err == nil
	if !all {
		p.facts.Nodes = nil
		if err := p.unsure(err, "the nodes of the cluster", "the plan has no nodes for replacements"); err != nil {
			return err
		}
	}
	for _, name := range names {
		node := by[name]
		if !all {
			if node, err = p.node(ctx, name); err != nil {
				return err
			}
		}
		if node == nil {
			return NoSuchNodeError{name}
		}
		p.facts.Drains.Nodes = append(p.facts.Drains.Nodes, drain.NodeSnapshot{Node: node, Request: request})
	}
	return nil
}

// node reads one node. Without the permission, it assumes that the node exists and is Ready.
func (p *planning) node(ctx context.Context, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := p.r.Client.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err == nil:
		return node, nil
	}
	node.Name = name
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node, p.unsure(err, "node "+name, "the plan assumes that it exists and is Ready")
}

// home reads which namespace is Slipway's own.
func (p *planning) home(ctx context.Context) (err error) {
	if p.own, err = p.r.own(ctx); err != nil {
		err = p.unsure(err, "the permissions of Slipway's controller", "the assumed namespace of Slipway is "+p.own)
	}
	p.facts.Drains.OwnNamespace = p.own
	return err
}

// pods reads all pods, or otherwise the pods of the named nodes.
func (p *planning) pods(ctx context.Context) error {
	if p.facts.Nodes != nil {
		err := p.addPods(ctx)
		if err == nil {
			p.share()
			return nil
		}
		p.facts.Nodes, p.facts.Pods = nil, nil
		if err := p.unsure(err, "the pods of the cluster", "the plan has no nodes for replacements"); err != nil {
			return err
		}
	}
	for _, n := range p.facts.Drains.Nodes {
		if err := p.addPods(ctx, client.MatchingFields{"spec.nodeName": n.Node.Name}); err != nil {
			return fmt.Errorf("list the pods of node %s: %w", n.Node.Name, err)
		}
	}
	p.share()
	return nil
}

func (p *planning) addPods(ctx context.Context, options ...client.ListOption) error {
	return each[corev1.PodList](ctx, p.r.Client, func(o *corev1.Pod) {
		p.facts.Pods = append(p.facts.Pods, o)
	}, options...)
}

// share gives each node its pods.
func (p *planning) share() {
	by := map[string][]*corev1.Pod{}
	for _, pod := range p.facts.Pods {
		by[pod.Spec.NodeName] = append(by[pod.Spec.NodeName], pod)
	}
	for i := range p.facts.Drains.Nodes {
		n := &p.facts.Drains.Nodes[i]
		n.Pods = by[n.Node.Name]
	}
}

func (p *planning) namespaces(ctx context.Context) error {
	p.facts.Namespaces = map[string]labels.Set{}
	err := each[corev1.NamespaceList](ctx, p.r.Client, func(ns *corev1.Namespace) {
		p.facts.Namespaces[ns.Name] = ns.Labels
	})
	if err != nil {
		return p.unsure(err, "the labels of namespaces", "the plan assumes that rules and affinity select no namespaces by labels")
	}
	return nil
}

// drainRules reads all rules. If the kind is not installed, there are none.
func (p *planning) drainRules(ctx context.Context) error {
	err := each[slipwayv1alpha1.DrainRuleList](ctx, p.r.Client, func(rule *slipwayv1alpha1.DrainRule) {
		p.rules = append(p.rules, *rule)
	})
	if client.IgnoreNotFound(err) != nil {
		return p.unsure(err, "the DrainRules", "the plan assumes that there are no rules")
	}
	return nil
}

func (p *planning) applyRules() {
	listing := drainrules.Listed(p.rules, p.own)
	p.facts.Drains.Rules, p.facts.Drains.BadRules = map[string][]drain.Rule{}, map[string]error{}
	for _, namespace := range p.concerned() {
		rules, err := listing.For(namespace, p.facts.Namespaces[namespace])
		if err != nil {
			p.facts.Drains.BadRules[namespace] = err
		} else {
			p.facts.Drains.Rules[namespace] = rules
		}
	}
}

// concerned are the namespaces of the pods of the nodes.
func (p *planning) concerned() []string {
	var all []string
	for _, n := range p.facts.Drains.Nodes {
		for _, pod := range n.Pods {
			all = append(all, pod.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// budgets reads the budgets of the cluster, or otherwise of each namespace that is concerned.
func (p *planning) budgets(ctx context.Context) error {
	concerned := p.concerned()
	p.facts.Drains.Budgets = map[string][]*policyv1.PodDisruptionBudget{}
	add := func(b *policyv1.PodDisruptionBudget) {
		p.facts.Drains.Budgets[b.Namespace] = append(p.facts.Drains.Budgets[b.Namespace], b)
	}
	if len(concerned) == 0 {
		return nil
	}
	err := each[policyv1.PodDisruptionBudgetList](ctx, p.r.Client, add)
	if err == nil {
		return nil
	}
	if !isRefused(err) {
		return fmt.Errorf("read the budgets of the cluster: %w", err)
	}
	for _, namespace := range concerned {
		if err := each[policyv1.PodDisruptionBudgetList](ctx, p.r.Client, add, client.InNamespace(namespace)); err != nil {
			if err := p.unsure(err, "the budgets of namespace "+namespace, "the plan assumes that its pods have none"); err != nil {
				return err
			}
		}
	}
	return nil
}

// volumes reads the claims and volumes of the cluster: a volume that only one node can reach
// keeps its pod there. Without pods or nodes, the plan has no replacements.
func (p *planning) volumes(ctx context.Context) error {
	if p.facts.Nodes == nil || p.facts.Pods == nil {
		return nil
	}
	p.facts.Claims = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}
	p.facts.Volumes = map[string]*corev1.PersistentVolume{}
	err := each[corev1.PersistentVolumeClaimList](ctx, p.r.Client, func(o *corev1.PersistentVolumeClaim) {
		p.facts.Claims[client.ObjectKeyFromObject(o)] = o
	})
	if err == nil {
		err = each[corev1.PersistentVolumeList](ctx, p.r.Client, func(o *corev1.PersistentVolume) { p.facts.Volumes[o.Name] = o })
	}
	if err != nil {
		p.facts.Claims, p.facts.Volumes = nil, nil
		return p.unsure(err, "volumes and their claims", "the plan assumes that replacements reach their volumes everywhere")
	}
	return nil
}
