// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// The API server's texts that name what has refused a request.
var (
	byWebhook = regexp.MustCompile(`admission webhook "([^"]+)"`)
	byPolicy  = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
)

// explainRefused is for requests that the server refuses for another reason than a budget.
func explainRefused(x explanation) {
	text := x.cause.Text
	switch {
	case byPolicy.MatchString(text):
		name := byPolicy.FindStringSubmatch(text)[1]
		x.cause.By = "ValidatingAdmissionPolicy " + name
		x.remedy("see the policy, and ask its owner to allow the eviction", "kubectl get validatingadmissionpolicy %s -o yaml", name)
	case byWebhook.MatchString(text):
		x.cause.By = "admission webhook " + byWebhook.FindStringSubmatch(text)[1]
		x.remedy("find the configuration of the webhook, and ask its owner to allow the eviction",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml")
	default:
		x.remedy("see which webhooks and policies match evictions of pods, and their timeouts",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies")
		x.remedy("see whether the node may evict pods there", "kubectl auth can-i create pods --subresource=eviction -n {NAMESPACE} --as=system:node:{NODE} --as-group=system:nodes")
	}
}

func (x explanation) conditionsOfNamespace() {
	_, name := nameIn(x.cause.By)
	for _, n := range x.Namespaces {
		for _, c := range n.Status.Conditions {
			if n.Name == name && c.Status == corev1.ConditionTrue {
				x.detail("Namespace %s: %s: %s", n.Name, c.Reason, c.Message)
			}
		}
	}
}

// explainTerminating names the managers that set the finalizers of the pods.
func explainTerminating(x explanation) {
	x.grace()
	if len(x.finalizers()) == 0 {
		x.remedy("look at the pod's containers and volumes", "kubectl -n {NAMESPACE} describe pod {POD}")
		x.remedy("then look at the kubelet's log on the node", "")
		return
	}
	x.remedy("see the finalizers of the pod, and ask their owners to remove them", "kubectl -n {NAMESPACE} get pod {POD} -o yaml --show-managed-fields")
	x.remedy("only if the owner of the finalizer no longer exists, and its work is done: remove the finalizer",
		`kubectl -n {NAMESPACE} patch pod {POD} --type=merge -p '{"metadata":{"finalizers":null}}'`)
}

func (x explanation) finalizers() []string {
	p := x.pod(x.first())
	if p == nil {
		if x.cause.By == "" {
			return nil
		}
		return strings.Split(x.cause.By, ", ")
	}
	for _, finalizer := range p.Finalizers {
		quoted, err := json.Marshal(finalizer)
		if err != nil {
			continue
		}
		if by, at := writerOf(p.ManagedFields, "f:metadata", "f:finalizers", "v:"+string(quoted)); by != "" {
			x.detail("%q set finalizer %s at %s", by, finalizer, at.UTC().Format(time.RFC3339))
		} else {
			x.detail("finalizer %s: the pod does not record its manager", finalizer)
		}
	}
	return p.Finalizers
}

// grace names the end of the grace period of the first few pods.
func (x explanation) grace() {
	for i, object := range x.cause.Objects {
		p := x.pod(nameIn(object))
		if p == nil || p.DeletionTimestamp == nil || i >= maxNamed {
			continue
		}
		x.detail("%s: its grace period ends at %s", object, p.DeletionTimestamp.UTC().Format(time.RFC3339))
	}
}

func (x explanation) deadlineOfRule() {
	namespace, name := nameIn(x.cause.By)
	r := find(x.Rules, func(r *slipwayv1alpha1.DrainRule) bool { return r.Namespace == namespace && r.Name == name })
	if r != nil && r.Spec.Deadline != nil {
		x.detail("the rule gives each pod %s, from its turn on", r.Spec.Deadline.Duration)
	}
}

// explainSkipped is for pods that a rule, or their own label, keeps on the node.
func explainSkipped(x explanation) {
	if x.cause.By == "" {
		x.remedy("you need not act if the pod should stay. If it should leave, remove its label together with its owner",
			"kubectl -n {NAMESPACE} label pod {POD} cluster.x-k8s.io/drain-")
		return
	}
	x.remedy("see the rule; you need not act if the pods should stay", "kubectl -n {BYSPACE} get drainrule {BY} -o yaml")
	x.remedy("if they should leave, change the rule together with its owner: a drain in progress evicts them then, or the next one",
		`kubectl -n {BYSPACE} patch drainrule {BY} --type=merge -p '{"spec":{"behavior":"Evict"}}'`)
}

// explainAllowed is for pods that the event refuses to evict.
func explainAllowed(parameter string) func(explanation) {
	return func(x explanation) {
		namespace, pods := x.together()
		x.remedy("save the data of these pods, and delete them together with their owners", "kubectl -n %s delete pod"+strings.Repeat(" %s", len(pods)),
			append([]any{namespace}, pods...)...)
		x.remedy("or allow it: such pods are evicted then, within their budgets, and their data is lost",
			`kubectl patch lifecycleevent {EVENT} --type=merge -p '{"spec":{"parameters":{"%s":"Evict"}}}'`, parameter)
	}
}

// together returns the first few pods of one namespace, and that namespace.
func (x explanation) together() (namespace string, pods []any) {
	namespace, _ = x.first()
	for _, object := range x.cause.Objects {
		if of, pod := nameIn(object); of == namespace && len(pods) < maxNamed {
			pods = append(pods, pod)
		}
	}
	return namespace, pods
}

// writerOf returns the manager that wrote a field last, by the managed fields.
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

// explainUnanswered is for pods that the event leaves to responders.
func explainUnanswered(x explanation) {
	if x.cause.By == "" {
		x.remedy("see whether EvictionRequests exist for them, and their status", "kubectl -n {NAMESPACE} get "+evictionRequests+" -o yaml")
	} else {
		x.remedy("see the status of the Eviction", "kubectl -n {BYSPACE} get "+evictions+" {BY} -o yaml")
	}
	x.otherMode()
}

func (x explanation) otherMode() {
	if entry, ok := reasons.Lookup(x.cause.Place, x.cause.Code); ok {
		x.remedy(entry.Helps, "")
	}
	x.remedy("or let the drain evict pods for which no responder acts, within their budgets",
		`kubectl patch lifecycleevent {EVENT} --type=merge -p '{"spec":{"parameters":{"mode":"Auto"}}}'`)
}
