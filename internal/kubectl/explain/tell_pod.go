// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// The words of the API server for who has refused a request.
var (
	byWebhook = regexp.MustCompile(`admission webhook "([^"]+)"`)
	byPolicy  = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
)

// tellRefused is for what the server does not do for another reason than a budget.
func tellRefused(t telling) {
	text := t.cause.Text
	switch {
	case byPolicy.MatchString(text):
		name := byPolicy.FindStringSubmatch(text)[1]
		t.cause.By = "ValidatingAdmissionPolicy " + name
		t.remedy("see the policy, and ask its owner to let the pod go", "kubectl get validatingadmissionpolicy %s -o yaml", name)
	case byWebhook.MatchString(text):
		t.cause.By = "admission webhook " + byWebhook.FindStringSubmatch(text)[1]
		t.remedy("find the configuration of the webhook, and ask its owner to let the pod go",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml")
	default:
		t.remedy("see which webhooks and policies there are for evictions of pods, and their timeouts",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies")
		namespace, _ := t.first()
		t.remedy("see whether the node may evict pods there", "kubectl auth can-i create pods --subresource=eviction -n %s --as=system:node:%s --as-group=system:nodes",
			namespace, t.NodeName)
	}
}

func tellWithoutEffect(t telling) {
	t.remedy("see which of them change evictions of pods, as into dry runs, and ask their owner to let the pod go",
		"kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies,mutatingadmissionpolicybindings -o yaml")
}

func tellNamespace(t telling) {
	_, name := nameIn(t.cause.By)
	for _, n := range t.Namespaces {
		if n.Name != name {
			continue
		}
		for _, c := range n.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				t.detail("Namespace %s: %s: %s", n.Name, c.Reason, c.Message)
			}
		}
	}
	t.remedy("see what keeps the namespace", "kubectl get namespace %s -o yaml", name)
}

// tellTerminating names who set the finalizers that keep the pods.
func tellTerminating(t telling) {
	namespace, name := t.first()
	t.grace()
	finalizers := t.finalizers(namespace, name)
	if len(finalizers) == 0 {
		t.remedy("look at the pod's containers and volumes", "kubectl -n %s describe pod %s", namespace, name)
		t.remedy("then look at the kubelet's log on the node", "")
		return
	}
	t.remedy("see who keeps the pod, and why the owner of the finalizer does not let it go", "kubectl -n %s get pod %s -o yaml --show-managed-fields", namespace, name)
	t.remedy("only if the owner of the finalizer is gone for good, and what it would still do is done: remove it",
		`kubectl -n %s patch pod %s --type=merge -p '{"metadata":{"finalizers":null}}'`, namespace, name)
}

func (t telling) finalizers(namespace, name string) []string {
	p := t.pod(namespace, name)
	if p == nil {
		if t.cause.By == "" {
			return nil
		}
		return strings.Split(t.cause.By, ", ")
	}
	for _, finalizer := range p.Finalizers {
		quoted, err := json.Marshal(finalizer)
		if err != nil {
			continue
		}
		if by, at := writerOf(p.ManagedFields, "f:metadata", "f:finalizers", "v:"+string(quoted)); by != "" {
			t.detail("finalizer %s was set by %q at %s", finalizer, by, at.UTC().Format(time.RFC3339))
		} else {
			t.detail("finalizer %s: the pod does not say who set it", finalizer)
		}
	}
	return p.Finalizers
}

func tellGrace(t telling) {
	t.grace()
	t.remedy("wait: the pod is killed when its grace period is over", "")
}

// grace says of the first few pods until when they have time.
func (t telling) grace() {
	for i, object := range t.cause.Objects {
		p := t.pod(nameIn(object))
		if p == nil || p.DeletionTimestamp == nil || i >= maxNamed {
			continue
		}
		t.detail("%s: its grace period ends at %s", object, p.DeletionTimestamp.UTC().Format(time.RFC3339))
	}
}

func tellWaiting(t telling) {
	namespace, rule := nameIn(t.cause.By)
	pods, pod := t.first()
	if r := slices.IndexFunc(t.Rules, named(namespace, rule)); r >= 0 && t.Rules[r].Spec.Deadline != nil {
		t.detail("the rule gives each pod %s from when its turn has come", t.Rules[r].Spec.Deadline.Duration)
	}
	t.remedy("see how far its work is, and wait", "kubectl -n %s describe pod %s", pods, pod)
	t.remedy("or limit the wait, with the owner of the rule: pods that are waited for longer are evicted then",
		`kubectl -n %s patch drainrule %s --type=merge -p '{"spec":{"deadline":"10m"}}'`, namespace, rule)
}

// tellAllowed is for pods that the event says to refuse.
func tellAllowed(parameter string) func(telling) {
	return func(t telling) {
		namespace, pods := t.together()
		t.remedy("save what such pods have that matters, and delete them with those who own them", "kubectl -n %s delete pod"+strings.Repeat(" %s", len(pods)),
			append([]any{namespace}, pods...)...)
		t.remedy("or allow it: pods like this are evicted then, within their budgets, and what only they have is lost",
			`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"parameters":{"%s":"Evict"}}}'`, t.event.Name, parameter)
	}
}

// together are the first few pods in one namespace, and that namespace.
func (t telling) together() (namespace string, pods []any) {
	namespace, _ = t.first()
	for _, object := range t.cause.Objects {
		if of, pod := nameIn(object); of == namespace && len(pods) < maxNamed {
			pods = append(pods, pod)
		}
	}
	return namespace, pods
}

func named(namespace, name string) func(slipwayv1alpha1.DrainRule) bool {
	return func(r slipwayv1alpha1.DrainRule) bool { return r.Namespace == namespace && r.Name == name }
}

func tellRecurring(t telling) {
	kind := strings.ToLower(kindOf(t.cause.By))
	namespace, name := nameIn(t.cause.By)
	t.remedy("see what its pods tolerate: they come back because they tolerate the taint of a cordon, or name the node in spec.nodeName", "kubectl -n %s get %s %s -o yaml", namespace, kind, name)
	t.remedy("or let a DrainRule with behavior Skip say that they stay", "")
}

func tellSkipped(t telling) {
	namespace, rule := nameIn(t.cause.By)
	t.remedy("nothing needs to be done, if they are to stay; see the rule", "kubectl -n %s get drainrule %s -o yaml", namespace, rule)
	t.remedy("if they are to leave, change the rule with its owner: they are evicted then by a drain that goes on, or by the next",
		`kubectl -n %s patch drainrule %s --type=merge -p '{"spec":{"behavior":"Evict"}}'`, namespace, rule)
}

func tellStatic(t telling) {
	t.remedy("see what slipway-host says of the node's static pods; without the annotation, nobody there takes them away",
		`kubectl get node %s -o jsonpath='{.metadata.annotations.slipway\.dev/static-pods-host}'`, t.NodeName)
	if t.cause.Code == "StaticPodStays" {
		t.remedy("or move the pod's manifest out of the folder of the kubelet there by hand (staticPodPath, mostly /etc/kubernetes/manifests)", "")
	}
}

// writerOf is who wrote a field last, by the managed fields.
func writerOf(entries []metav1.ManagedFieldsEntry, path ...string) (by string, at time.Time) {
	for _, e := range entries {
		if e.FieldsV1 == nil || !has(e.FieldsV1.GetRawBytes(), path) {
			continue
		}
		if e.Time != nil {
			at = e.Time.Time
		}
		return e.Manager, at
	}
	return "", time.Time{}
}

func has(fields json.RawMessage, path []string) bool {
	for _, name := range path {
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(fields, &inner); err != nil {
			return false
		}
		next, ok := inner[name]
		if !ok {
			return false
		}
		fields = next
	}
	return true
}
