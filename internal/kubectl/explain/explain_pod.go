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
		namespace, _ := x.first()
		x.remedy("see whether the node may evict pods there", "kubectl auth can-i create pods --subresource=eviction -n %s --as=system:node:%s --as-group=system:nodes",
			namespace, x.NodeName)
	}
}

func explainWithoutEffect(x explanation) {
	x.remedy("see which of them mutate evictions of pods, for example into dry runs, and ask their owner to allow the eviction",
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
	x.remedy("see what delays the deletion of the namespace", "kubectl get namespace %s -o yaml", name)
}

// explainTerminating names the managers that set the finalizers of the pods.
func explainTerminating(x explanation) {
	namespace, name := x.first()
	x.grace()
	finalizers := x.finalizers(namespace, name)
	if len(finalizers) == 0 {
		x.remedy("look at the pod's containers and volumes", "kubectl -n %s describe pod %s", namespace, name)
		x.remedy("then look at the kubelet's log on the node", "")
		return
	}
	x.remedy("see the finalizers of the pod, and why their owners do not remove them", "kubectl -n %s get pod %s -o yaml --show-managed-fields", namespace, name)
	x.remedy("only if the owner of the finalizer is gone for good, and its work is done: remove the finalizer",
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
			x.detail("%q set finalizer %s at %s", by, finalizer, at.UTC().Format(time.RFC3339))
		} else {
			x.detail("finalizer %s: the pod does not record its manager", finalizer)
		}
	}
	return p.Finalizers
}

func explainGrace(x explanation) {
	x.grace()
	x.remedy("wait: the pod is killed when its grace period is over", "")
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

func explainWaiting(x explanation) {
	namespace, rule := nameIn(x.cause.By)
	pods, pod := x.first()
	if r := slices.IndexFunc(x.Rules, named(namespace, rule)); r >= 0 && x.Rules[r].Spec.Deadline != nil {
		x.detail("the rule gives each pod %s, from its turn on", x.Rules[r].Spec.Deadline.Duration)
	}
	x.remedy("see the progress of its work, and wait", "kubectl -n %s describe pod %s", pods, pod)
	x.remedy("or limit the wait, together with the owner of the rule: pods that take longer are evicted then",
		`kubectl -n %s patch drainrule %s --type=merge -p '{"spec":{"deadline":"10m"}}'`, namespace, rule)
}

// explainAllowed is for pods that the event refuses to evict.
func explainAllowed(parameter string) func(explanation) {
	return func(x explanation) {
		namespace, pods := x.together()
		x.remedy("save the data of these pods, and delete them together with their owners", "kubectl -n %s delete pod"+strings.Repeat(" %s", len(pods)),
			append([]any{namespace}, pods...)...)
		x.remedy("or allow it: such pods are evicted then, within their budgets, and their data is lost",
			`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"parameters":{"%s":"Evict"}}}'`, x.event.Name, parameter)
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

func named(namespace, name string) func(slipwayv1alpha1.DrainRule) bool {
	return func(r slipwayv1alpha1.DrainRule) bool { return r.Namespace == namespace && r.Name == name }
}

func explainRecurring(x explanation) {
	kind := strings.ToLower(kindOf(x.cause.By))
	namespace, name := nameIn(x.cause.By)
	x.remedy("see the tolerations of its pods: they come back because they tolerate the taint of a cordon, or name the node in spec.nodeName", "kubectl -n %s get %s %s -o yaml", namespace, kind, name)
	x.remedy("or create a DrainRule with behavior Skip, so that they stay", "")
}

func explainSkipped(x explanation) {
	namespace, rule := nameIn(x.cause.By)
	x.remedy("nothing needs to be done if they should stay; see the rule", "kubectl -n %s get drainrule %s -o yaml", namespace, rule)
	x.remedy("if they should leave, change the rule together with its owner: a drain in progress evicts them then, or the next one",
		`kubectl -n %s patch drainrule %s --type=merge -p '{"spec":{"behavior":"Evict"}}'`, namespace, rule)
}

func explainStatic(x explanation) {
	x.remedy("see what slipway-host reports of the node's static pods; without the annotation, no slipway-host moves them away",
		`kubectl get node %s -o jsonpath='{.metadata.annotations.slipway\.dev/static-pods-host}'`, x.NodeName)
	if x.cause.Code == "StaticPodStays" {
		x.remedy("or move the manifest of the pod out of the kubelet's folder by hand (staticPodPath, usually /etc/kubernetes/manifests)", "")
	}
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

// The full names of the resources: pods have a subresource named eviction, too.
const (
	evictions        = "evictions.v1alpha1.lifecycle.k8s.io"
	evictionRequests = "evictionrequests.v1alpha1.lifecycle.k8s.io"
)

func explainResponder(x explanation) {
	namespace, name := nameIn(x.cause.By)
	x.remedy("see the progress of the responder, and wait: one that reports nothing for 20 min loses its turn", "kubectl -n %s get %s %s -o yaml", namespace, evictions, name)
	x.remedy("or cancel the drain, which withdraws its EvictionRequests", "")
}

// explainUnanswered is for pods that the event leaves to responders.
func explainUnanswered(x explanation) {
	if x.cause.By == "" {
		namespace, _ := x.first()
		x.remedy("see whether EvictionRequests exist for them, and their status", "kubectl -n %s get %s -o yaml", namespace, evictionRequests)
	} else {
		namespace, name := nameIn(x.cause.By)
		x.remedy("see the status of the Eviction", "kubectl -n %s get %s %s -o yaml", namespace, evictions, name)
	}
	x.otherMode()
}

func explainEvictionAPI(x explanation) {
	x.remedy("see whether the server serves Evictions", "kubectl api-resources --api-group=lifecycle.k8s.io")
	x.otherMode()
}

func (x explanation) otherMode() {
	if entry, ok := reasons.Lookup(x.cause.Place, x.cause.Code); ok {
		x.remedy(entry.Helps, "")
	}
	x.remedy("or let the drain evict pods for which no responder acts, within their budgets",
		`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"parameters":{"mode":"Auto"}}}'`, x.event.Name)
}
