// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

const (
	// defaultNamespace is Slipway's own, where no pod of it tells another.
	defaultNamespace = "slipway-system"
	// controllerName is that of the controller's lease.
	controllerName = "slipway-controller"
)

// The labels of Slipway's pods.
const (
	labelName      = "app.kubernetes.io/name"
	labelComponent = "app.kubernetes.io/component"
	product        = "slipway"
	agent          = "node-agent"
	controller     = "controller"
)

// Node reads what explain tells of a node. It fails only where the API server does not
// answer at all, and with [NoSuchNodeError] where there is neither the Node nor an event of it.
func (r *Reader) Node(ctx context.Context, name string) (explain.Facts, error) {
	f, n := explain.Facts{NodeName: name}, &notes{}
	var events lifecyclev1alpha1.LifecycleEventList
	if !r.list(ctx, n, explain.Events, &events, client.MatchingFields{"spec.bindingNode": name}) && !n.answered {
		return f, fmt.Errorf("list the LifecycleEvents of node %s: %s", name, n.unread[0].Why)
	}
	f.Events = events.Items
	var node corev1.Node
	if n.note(explain.TheNode, r.client.Get(ctx, client.ObjectKey{Name: name}, &node)) {
		f.Node = &node
	} else if len(f.Events) == 0 && !n.lacks(explain.TheNode) {
		return f, NoSuchNodeError{name}
	}
	var pods corev1.PodList
	r.list(ctx, n, explain.Pods, &pods, client.MatchingFields{"spec.nodeName": name})
	f.Pods = pods.Items
	var transitions lifecyclev1alpha1.LifecycleTransitionList
	r.list(ctx, n, explain.Transitions, &transitions)
	f.Transitions = transitions.Items
	r.slipway(ctx, n, &f)
	r.blockers(ctx, n, &f)
	r.coreEvents(ctx, n, &f)
	f.Unread = n.unread
	return f, ctx.Err()
}

// slipway reads how Slipway itself is: the node's agents, the controllers, their lease.
func (r *Reader) slipway(ctx context.Context, n *notes, f *explain.Facts) {
	own, unsure := r.own(ctx)
	var controllers corev1.PodList
	if r.list(ctx, n, explain.ControllerPods, &controllers, client.MatchingLabels{labelName: product, labelComponent: controller}) {
		f.ControllerPods = controllers.Items
	}
	for _, p := range f.Pods {
		if p.Labels[labelName] == product && p.Labels[labelComponent] == agent {
			f.AgentPods = append(f.AgentPods, p)
		}
	}
	f.Namespace = own
	if pods := slices.Concat(f.AgentPods, f.ControllerPods); unsure != nil && len(pods) > 0 {
		f.Namespace = pods[0].Namespace // there is nothing better to go by
	}
	foreign := func(p corev1.Pod) bool { return p.Namespace != f.Namespace }
	f.AgentPods, f.ControllerPods = slices.DeleteFunc(f.AgentPods, foreign), slices.DeleteFunc(f.ControllerPods, foreign)
	for _, u := range n.unread {
		if u.Kind == explain.Pods { // the agents are among them
			n.unread = append(n.unread, explain.Unread{Kind: explain.AgentPods, Why: u.Why})
			break
		}
	}
	if waits := slices.ContainsFunc(f.Events, func(e lifecyclev1alpha1.LifecycleEvent) bool {
		return cmp.Or(e.Status.ClaimStatus, lifecyclev1alpha1.Pending) == lifecyclev1alpha1.Pending
	}); !waits {
		return
	}
	var lease coordinationv1.Lease
	if n.note(explain.Lease, r.client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: controllerName}, &lease)) {
		f.Lease = &lease
	}
}

// counted are the pods that a budget counts.
func (r *Reader) counted(ctx context.Context, n *notes, b *explain.Budget) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	left, err := firstPages(ctx, r.client, maxPages, func(page *corev1.PodList) { b.Pods = append(b.Pods, page.Items...) },
		client.InNamespace(b.Namespace), client.MatchingLabelsSelector{Selector: selector})
	n.note(explain.BudgetPods, err)
	if left {
		n.partly(explain.BudgetPods, "PodDisruptionBudget %s/%s selects more than %d, and the others were not read", b.Namespace, b.Name, len(b.Pods))
	}
}
