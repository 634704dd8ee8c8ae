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
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// The words of the API server for who has refused a request.
var (
	byWebhook = regexp.MustCompile(`admission webhook "([^"]+)"`)
	byPolicy  = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`)
)

// explainRefused is for what the server does not do for another reason than a budget.
func explainRefused(x explanation) {
	text := x.cause.Text
	switch {
	case byPolicy.MatchString(text):
		name := byPolicy.FindStringSubmatch(text)[1]
		x.cause.By = "ValidatingAdmissionPolicy " + name
		x.remedy("see the policy, and ask its owner to let the pod go", "kubectl get validatingadmissionpolicy %s -o yaml", name)
	case byWebhook.MatchString(text):
		x.cause.By = "admission webhook " + byWebhook.FindStringSubmatch(text)[1]
		x.remedy("find the configuration of the webhook, and ask its owner to let the pod go",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml")
	default:
		x.remedy("see which webhooks and policies there are for evictions of pods, and their timeouts",
			"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies")
		namespace, _ := x.first()
		x.remedy("see whether the node may evict pods there", "kubectl auth can-i create pods --subresource=eviction -n %s --as=system:node:%s --as-group=system:nodes",
			namespace, x.NodeName)
	}
}

func explainWithoutEffect(x explanation) {
	x.remedy("see which of them change evictions of pods, as into dry runs, and ask their owner to let the pod go",
		"kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies,mutatingadmissionpolicybindings -o yaml")
}

func explainNamespace(x explanation) {
	_, name := nameIn(x.cause.By)
	for _, n := range x.Namespaces {
		if n.Name != name {
			continue
		}
		for _, c := range n.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				x.detail("Namespace %s: %s: %s", n.Name, c.Reason, c.Message)
			}
		}
	}
	x.remedy("see what keeps the namespace", "kubectl get namespace %s -o yaml", name)
}

// explainTerminating names who set the finalizers that keep the pods.
func explainTerminating(x explanation) {
	namespace, name := x.first()
	x.grace()
	finalizers := x.finalizers(namespace, name)
	if len(finalizers) == 0 {
		x.remedy("look at the pod's containers and volumes", "kubectl -n %s describe pod %s", namespace, name)
		x.remedy("then look at the kubelet's log on the node", "")
		return
	}
	x.remedy("see who keeps the pod, and why the owner of the finalizer does not let it go", "kubectl -n %s get pod %s -o yaml --show-managed-fields", namespace, name)
	x.remedy("only if the owner of the finalizer is gone for good, and what it would still do is done: remove it",
		`kubectl -n %s patch pod %s --type=merge -p '{"metadata":{"finalizers":null}}'`, namespace, name)
}

func (x explanation) finalizers(namespace, name string) []string {
	p := x.pod(namespace, name)
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
			x.detail("finalizer %s was set by %q at %s", finalizer, by, at.UTC().Format(time.RFC3339))
		} else {
			x.detail("finalizer %s: the pod does not say who set it", finalizer)
		}
	}
	return p.Finalizers
}

func explainGrace(x explanation) {
	x.grace()
	x.remedy("wait: the pod is killed when its grace period is over", "")
}

// grace says of the first few pods until when they have time.
func (x explanation) grace() {
	for i, object := range x.cause.Objects {
		p := x.pod(nameIn(object))
		if p == nil || p.DeletionTimestamp == nil || i >= maxNamed {
			continue
		}
		x.detail("%s: its grace period ends at %s", object, p.DeletionTimestamp.UTC().Format(time.RFC3339))
	}
}

func explainWaiting(x explanation) {
	namespace, rule := nameIn(x.cause.By)
	pods, pod := x.first()
	if r := slices.IndexFunc(x.Rules, named(namespace, rule)); r >= 0 && x.Rules[r].Spec.Deadline != nil {
		x.detail("the rule gives each pod %s from when its turn has come", x.Rules[r].Spec.Deadline.Duration)
	}
	x.remedy("see how far its work is, and wait", "kubectl -n %s describe pod %s", pods, pod)
	x.remedy("or limit the wait, with the owner of the rule: pods that are waited for longer are evicted then",
		`kubectl -n %s patch drainrule %s --type=merge -p '{"spec":{"deadline":"10m"}}'`, namespace, rule)
}

// explainAllowed is for pods that the event says to refuse.
func explainAllowed(parameter string) func(explanation) {
	return func(x explanation) {
		namespace, pods := x.together()
		x.remedy("save what such pods have that matters, and delete them with those who own them", "kubectl -n %s delete pod"+strings.Repeat(" %s", len(pods)),
			append([]any{namespace}, pods...)...)
		x.remedy("or allow it: pods like this are evicted then, within their budgets, and what only they have is lost",
			`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"parameters":{"%s":"Evict"}}}'`, x.event.Name, parameter)
	}
}

// together are the first few pods in one namespace, and that namespace.
func (x explanation) together() (namespace string, pods []any) {
	namespace, _ = x.first()
	for _, object := range x.cause.Objects {
		if of, pod := nameIn(object); of == namespace && len(pods) < maxNamed {
			pods = append(pods, pod)
		}
	}
	return namespace, pods
}

func named(namespace, name string) func(slipwayv1alpha1.DrainRule) bool {
	return func(r slipwayv1alpha1.DrainRule) bool { return r.Namespace == namespace && r.Name == name }
}

func explainRecurring(x explanation) {
	kind := strings.ToLower(kindOf(x.cause.By))
	namespace, name := nameIn(x.cause.By)
	x.remedy("see what its pods tolerate: they come back because they tolerate the taint of a cordon, or name the node in spec.nodeName", "kubectl -n %s get %s %s -o yaml", namespace, kind, name)
	x.remedy("or let a DrainRule with behavior Skip say that they stay", "")
}

func explainSkipped(x explanation) {
	namespace, rule := nameIn(x.cause.By)
	x.remedy("nothing needs to be done, if they are to stay; see the rule", "kubectl -n %s get drainrule %s -o yaml", namespace, rule)
	x.remedy("if they are to leave, change the rule with its owner: they are evicted then by a drain that goes on, or by the next",
		`kubectl -n %s patch drainrule %s --type=merge -p '{"spec":{"behavior":"Evict"}}'`, namespace, rule)
}

func explainStatic(x explanation) {
	x.remedy("see what slipway-host says of the node's static pods; without the annotation, nobody there takes them away",
		`kubectl get node %s -o jsonpath='{.metadata.annotations.slipway\.dev/static-pods-host}'`, x.NodeName)
	if x.cause.Code == "StaticPodStays" {
		x.remedy("or move the pod's manifest out of the folder of the kubelet there by hand (staticPodPath, mostly /etc/kubernetes/manifests)", "")
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

// Evictions by their full name: pods have a subresource that is called so too.
const (
	evictions        = "evictions.v1alpha1.lifecycle.k8s.io"
	evictionRequests = "evictionrequests.v1alpha1.lifecycle.k8s.io"
)

func explainResponder(x explanation) {
	namespace, name := nameIn(x.cause.By)
	x.remedy("see how far the responder is, and wait: who gives no sign of life for 20 min loses its turn", "kubectl -n %s get %s %s -o yaml", namespace, evictions, name)
	x.remedy("or cancel the drain, which takes its requests back", "")
}

// explainUnanswered is for pods that the event says to leave to responders.
func explainUnanswered(x explanation) {
	if x.cause.By == "" {
		namespace, _ := x.first()
		x.remedy("see whether their evictions are asked for, and what has become of that", "kubectl -n %s get %s -o yaml", namespace, evictionRequests)
	} else {
		namespace, name := nameIn(x.cause.By)
		x.remedy("see what has become of the Eviction", "kubectl -n %s get %s %s -o yaml", namespace, evictions, name)
	}
	x.otherMode()
}

func explainEvictionAPI(x explanation) {
	x.remedy("see whether the server has Evictions", "kubectl api-resources --api-group=lifecycle.k8s.io")
	x.otherMode()
}

func (x explanation) otherMode() {
	if entry, ok := reasons.Lookup(x.cause.Place, x.cause.Code); ok {
		x.remedy(entry.Helps, "")
	}
	x.remedy("or let the drain evict pods to which nobody comes, within their budgets",
		`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"parameters":{"mode":"Auto"}}}'`, x.event.Name)
}
