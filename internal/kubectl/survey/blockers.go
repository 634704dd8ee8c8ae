// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

// named finds what a blocker names with its kind: in by, or in the message.
var named = regexp.MustCompile(`(PodDisruptionBudget|DrainRule|Namespace|Volume) ([^ ,;:()]+)`)

// blockers reads what is in the way of the node's events, and nothing else of its kind.
func (r *Reader) blockers(ctx context.Context, n *notes, f *explain.Facts) {
	found := inTheWay(f.Events)
	r.budgets(ctx, n, f, found["PodDisruptionBudget"])
	for _, name := range sorted(found["DrainRule"]) {
		var rule slipwayv1alpha1.DrainRule
		if n.note(explain.Rules, r.client.Get(ctx, keyOf(name), &rule)) {
			f.Rules = append(f.Rules, rule)
		}
	}
	for _, name := range sorted(found["Namespace"]) {
		var namespace corev1.Namespace
		if n.note(explain.Namespaces, r.client.Get(ctx, client.ObjectKey{Name: name}, &namespace)) {
			f.Namespaces = append(f.Namespaces, namespace)
		}
	}
	if len(found["Volume"]) == 0 {
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

// budgets reads the budgets in the way, and the pods that each of them counts.
func (r *Reader) budgets(ctx context.Context, n *notes, f *explain.Facts, names map[string]bool) {
	for _, name := range sorted(names) {
		var pdb policyv1.PodDisruptionBudget
		if !n.note(explain.Budgets, r.client.Get(ctx, keyOf(name), &pdb)) {
			continue
		}
		b := explain.Budget{PodDisruptionBudget: pdb}
		r.counted(ctx, n, &b)
		f.Budgets = append(f.Budgets, b)
	}
}

// inTheWay are the names of the objects that blockers name, by kind.
func inTheWay(events []lifecyclev1alpha1.LifecycleEvent) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	for _, text := range naming(events) {
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			if found[match[1]] == nil {
				found[match[1]] = map[string]bool{}
			}
			found[match[1]][match[2]] = true
		}
	}
	return found
}

// naming are the texts that name what is in the way, or what is left behind.
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
			if c.Type == "PodsLeft" && c.Status == metav1.ConditionTrue {
				texts = append(texts, c.Message)
			}
		}
	}
	return texts
}

func sorted(names map[string]bool) []string { return slices.Sorted(maps.Keys(names)) }

func keyOf(full string) client.ObjectKey {
	namespace, name, _ := strings.Cut(full, "/")
	return client.ObjectKey{Namespace: namespace, Name: name}
}
