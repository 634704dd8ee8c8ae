// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

const (
	// defaultNamespace is Slipway's own, where no pod of it tells another.
	defaultNamespace = "slipway-system"
	// controllerName is the name of the controller's lease.
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

// Node reads the facts for explain. It fails only if the API server does not answer at all, and
// with [NoSuchNodeError] if neither the Node nor an event of it exists.
func (r Reader) Node(ctx context.Context, name string) (explain.Facts, error) {
	f, n := explain.Facts{NodeName: name}, &notes{}
	var events lifecyclev1alpha1.LifecycleEventList
	if !r.list(ctx, n, explain.Events, &events, client.MatchingFields{"spec.bindingNode": name}) && !n.answered {
		return f, fmt.Errorf("list the LifecycleEvents of node %s: %s", name, n.unread[0].Why)
	}
	f.Events = events.Items
	var node corev1.Node
	if n.note(explain.TheNode, r.Client.Get(ctx, client.ObjectKey{Name: name}, &node)) {
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
func (r Reader) slipway(ctx context.Context, n *notes, f *explain.Facts) {
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
		f.Namespace = pods[0].Namespace // the best guess
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
	if n.note(explain.Lease, r.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: controllerName}, &lease)) {
		f.Lease = &lease
	}
}

// counted are the pods that a budget counts.
func (r Reader) counted(ctx context.Context, n *notes, b *explain.Budget) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	n.note(explain.BudgetPods, each[corev1.PodList](ctx, r.Client, func(p *corev1.Pod) { b.Pods = append(b.Pods, *p) },
		client.InNamespace(b.Namespace), client.MatchingLabelsSelector{Selector: selector}))
}

const (
	// maxCoreEvents limits the core Events of one object in the facts.
	maxCoreEvents = 100
	// maxEvents is of how many LifecycleEvents the core Events are read.
	maxEvents = 10
)

// coreEvents reads the core Events of the node and of its events.
func (r Reader) coreEvents(ctx context.Context, n *notes, f *explain.Facts) {
	f.CoreEvents = r.newestOf(ctx, n, "Node", f.NodeName)
	for _, e := range f.Events[:min(len(f.Events), maxEvents)] {
		f.CoreEvents = append(f.CoreEvents, r.newestOf(ctx, n, "LifecycleEvent", e.Name)...)
	}
	if more := len(f.Events) - maxEvents; more > 0 {
		n.partly(explain.CoreEvents, "read for the Node and %d LifecycleEvents, not for %d more", maxEvents, more)
	}
}

// newestOf returns the newest core Events of an object. Core Events of cluster-scoped objects are
// in the default namespace. The server lists them by name, so it reads all to find the newest.
func (r Reader) newestOf(ctx context.Context, n *notes, kind, name string) []corev1.Event {
	var all []corev1.Event
	n.note(explain.CoreEvents, each[corev1.EventList](ctx, r.Client, func(e *corev1.Event) { all = append(all, *e) },
		client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"involvedObject.kind": kind, "involvedObject.name": name}))
	older := len(all) - maxCoreEvents
	if older > 0 {
		n.partly(explain.CoreEvents, "of the %d of %s %s, the report has the newest %d", len(all), kind, name, maxCoreEvents)
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int { return explain.LastTold(a).Compare(explain.LastTold(b).Time) })
	return all[max(older, 0):]
}

// partly records an incomplete read, once for each kind.
func (n *notes) partly(kind explain.Kind, format string, args ...any) {
	if !n.lacks(kind) {
		n.unread = append(n.unread, explain.Unread{Kind: kind, Why: fmt.Sprintf(format, args...)})
	}
}

// named matches an object with its kind, in the field by of a blocker, or in its message.
var named = regexp.MustCompile(`(PodDisruptionBudget|DrainRule|Namespace|Volume) ([^ ,;:()]+)`)

// blockers reads the objects that block the events of the node.
func (r Reader) blockers(ctx context.Context, n *notes, f *explain.Facts) {
	for _, name := range namesOf("PodDisruptionBudget", f.Events) {
		var b explain.Budget
		if n.note(explain.Budgets, r.Client.Get(ctx, keyOf(name), &b.PodDisruptionBudget)) {
			r.counted(ctx, n, &b)
			f.Budgets = append(f.Budgets, b)
		}
	}
	for _, name := range namesOf("DrainRule", f.Events) {
		var rule slipwayv1alpha1.DrainRule
		if n.note(explain.Rules, r.Client.Get(ctx, keyOf(name), &rule)) {
			f.Rules = append(f.Rules, rule)
		}
	}
	for _, name := range namesOf("Namespace", f.Events) {
		var namespace corev1.Namespace
		if n.note(explain.Namespaces, r.Client.Get(ctx, client.ObjectKey{Name: name}, &namespace)) {
			f.Namespaces = append(f.Namespaces, namespace)
		}
	}
	if len(namesOf("Volume", f.Events)) == 0 {
		return
	}
	var attachments storagev1.VolumeAttachmentList
	r.list(ctx, n, explain.Attachments, &attachments) // the server does not select them by node
	for _, a := range attachments.Items {
		if a.Spec.NodeName == f.NodeName {
			f.Attachments = append(f.Attachments, a)
		}
	}
}

// namesOf returns the names of the objects of a kind that blockers name.
func namesOf(kind string, events []lifecyclev1alpha1.LifecycleEvent) []string {
	var names []string
	for _, text := range naming(events) {
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			if match[1] == kind {
				names = append(names, match[2])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// naming returns the texts that name obstacles, or leftovers.
func naming(events []lifecyclev1alpha1.LifecycleEvent) []string {
	var texts []string
	for _, e := range events {
		for _, b := range e.Status.Blockers {
			texts = append(texts, b.By)
			if b.Reason == "RuleInvalid" {
				texts = append(texts, b.Message)
			}
		}
		for _, c := range e.Status.Conditions {
			if c.Type == lifecyclev1alpha1.ConditionPodsLeft && c.Status == metav1.ConditionTrue {
				texts = append(texts, c.Message)
			}
		}
	}
	return texts
}

func keyOf(full string) client.ObjectKey {
	namespace, name, _ := strings.Cut(full, "/")
	return client.ObjectKey{Namespace: namespace, Name: name}
}
