// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// The full names of the resources: pods have a subresource named eviction, too.
const (
	evictions        = "evictions.v1alpha1.lifecycle.k8s.io"
	evictionRequests = "evictionrequests.v1alpha1.lifecycle.k8s.io"
)

// blockerExplainers add facts and remedies to blockers.
var blockerExplainers = map[string]explainer{
	"NodeNotCordoned": {facts: explanation.lastCordon, remedies: []Remedy{
		{"cordon the node again: the drain continues at once", "kubectl cordon {NODE}"},
		{"or cancel the event, if the node must stay in service", "kubectl delete lifecycleevent {EVENT}"},
	}},
	"NodeTaintMissing": {remedies: []Remedy{
		{"look at the control plane: kube-controller-manager adds the taint " + corev1.TaintNodeUnschedulable, "kubectl -n kube-system get leases,pods"},
	}},
	"NodeGone": {facts: explanation.remainingPods, remedies: []Remedy{
		{"see which pods are left: kube-controller-manager removes pods of deleted Nodes within minutes", "kubectl get pods -A --field-selector=spec.nodeName={NODE}"},
	}},
	"APIServerUnavailable": {remedies: server},
	"APIServerOverloaded":  {remedies: server},
	"RuleInvalid":          {facts: explainRuleInvalid},
	"ReadRefused": {remedies: []Remedy{
		{"see which permissions Slipway has", "kubectl get clusterrolebindings -o wide"},
		{"restore them, with the chart or the manifest that Slipway was installed with", ""},
	}},

	"BudgetExhausted":  {facts: explainBudget},
	"BudgetImpossible": {facts: explainBudget},
	"BudgetNotObserved": {facts: explanation.observation, remedies: []Remedy{
		{"look at kube-controller-manager, which computes budgets: does it run, and renew its lease?", "kubectl -n kube-system get leases,pods"},
	}},
	"BudgetSyncFailed": {facts: explainBudget},
	"MultipleBudgets":  {facts: explainBudgets},
	"EvictionRefused":  {facts: explainRefused},
	"EvictionTimedOut": {facts: explainRefused},
	"EvictionWithoutEffect": {remedies: []Remedy{
		{
			"see which of them mutate evictions of pods, for example into dry runs, and ask their owner to allow the eviction",
			"kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies,mutatingadmissionpolicybindings -o yaml",
		},
	}},
	"DeletionRefused": {facts: explainRefused},
	"NamespaceTerminating": {facts: explanation.conditionsOfNamespace, remedies: []Remedy{
		{"see what delays the deletion of the namespace", "kubectl get namespace {BY} -o yaml"},
	}},

	"Terminating": {facts: explainTerminating},
	"NodeNotReady": {facts: explanation.conditionOfNode, remedies: []Remedy{
		{"look at the node, and repair it if you can", "kubectl describe node {NODE}"},
		{
			"only when the machine is certainly off: taint the Node. Its pods are removed then, and its volumes detached; while the " +
				"machine runs, two instances of a pod may write to one volume",
			"kubectl taint node {NODE} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
		},
	}},
	"PodTimedOut": {facts: explanation.grace, remedies: []Remedy{{"wait: the pod is killed when its grace period is over", ""}}},
	"WaitingForCompletion": {facts: explanation.deadlineOfRule, remedies: []Remedy{
		{"see the progress of its work, and wait", "kubectl -n {NAMESPACE} describe pod {POD}"},
		{
			"or limit the wait, together with the owner of the rule: pods that take longer are evicted then",
			`kubectl -n {BYSPACE} patch drainrule {BY} --type=merge -p '{"spec":{"deadline":"10m"}}'`,
		},
	}},
	"Frozen": {remedies: []Remedy{
		{"see the reason and the end of the Freeze", "kubectl get freezes"},
		{"wait until the Freeze ends", ""},
		{"or delete the Freeze, together with its author", "kubectl delete freeze {BY}"},
	}},
	"UnmanagedPod": {facts: explainAllowed("unmanagedPods")},
	"LocalStorage": {facts: explainAllowed("localStorage")},
	"AwaitingResponder": {remedies: []Remedy{
		{
			"see the progress of the responder, and wait: after 20 min without a report, the next responder takes over",
			"kubectl -n {BYSPACE} get " + evictions + " {BY} -o yaml",
		},
		{"or cancel the drain, which withdraws its EvictionRequests", ""},
	}},
	"ResponderMissing": {facts: explainUnanswered},
	"RespondersFailed": {facts: explainUnanswered},
	"EvictionAPIMissing": {facts: func(x explanation) {
		x.remedy("see whether the server serves Evictions", "kubectl api-resources --api-group=lifecycle.k8s.io")
		x.otherMode()
	}},
	"VolumeAttached": {facts: explainVolume},
	"PodRecurring": {remedies: []Remedy{
		{
			"see the tolerations of its pods: they return because they tolerate the taint of a cordon, or name the node in spec.nodeName",
			"kubectl -n {BYSPACE} get {BYKIND} {BY} -o yaml",
		},
		{"or create a DrainRule with behavior Skip, so that they stay", ""},
	}},
	"PodSkipped": {facts: explainSkipped},
	"StaticPodStays": {remedies: []Remedy{
		staticPods,
		{"or move the manifest of the pod out of the kubelet's folder by hand (staticPodPath, usually /etc/kubernetes/manifests)", ""},
	}},
	"StaticPodLeft": {remedies: []Remedy{staticPods}},
}

var server = []Remedy{
	{"see the health of the API server, and which APIs it cannot serve", "kubectl get --raw=/readyz?verbose"},
	{"see whether an API that Slipway needs is unavailable: of events, rules, budgets or pods", "kubectl get apiservices"},
	{"see which clients send many requests", "kubectl get --raw=/debug/api_priority_and_fairness/dump_priority_levels"},
}

var staticPods = Remedy{
	"see what slipway-host reports of the node's static pods; without the annotation, no slipway-host moves them away",
	`kubectl get node {NODE} -o jsonpath='{.metadata.annotations.slipway\.dev/static-pods-host}'`,
}

func (x explanation) lastCordon() {
	if x.Node == nil {
		return
	}
	if found := cordons.By(x.Node); found.By != "" {
		x.detail("spec.unschedulable was last written by %q at %s", found.By, found.Since.UTC().Format(time.RFC3339))
	}
}

func (x explanation) remainingPods() {
	for _, p := range x.Pods {
		x.detail("Pod %s/%s is still bound to the node", p.Namespace, p.Name)
	}
}

func explainRuleInvalid(x explanation) {
	for _, r := range x.Rules {
		if strings.Contains(x.cause.Text, "DrainRule "+r.Namespace+"/"+r.Name+":") {
			x.cause.By = "DrainRule " + r.Namespace + "/" + r.Name
			x.remedy("see the rule, and correct the error in the message", "kubectl -n {BYSPACE} get drainrule {BY} -o yaml")
			x.remedy("or delete it: its pods are evicted then like pods without a rule", "kubectl -n {BYSPACE} delete drainrule {BY}")
		}
	}
	if len(x.cause.Remedies) == 0 {
		x.remedy("find the rule that the message names, and correct or delete it", "kubectl get drainrules -A")
	}
}

func (x explanation) conditionOfNode() {
	if x.Node == nil {
		return
	}
	for _, c := range x.Node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			x.detail("Node %s: Ready is %s since %s (%s): %s", x.Node.Name, c.Status,
				c.LastTransitionTime.UTC().Format(time.RFC3339), c.Reason, c.Message)
		}
	}
}

// explainVolume finds the VolumeAttachment of a volume, and the error of its detachment.
func explainVolume(x explanation) {
	driver, handle, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(x.cause.By, "Volume "), "kubernetes.io/csi/"), "^")
	attachments := x.attachmentsOf(driver, handle)
	for _, a := range attachments {
		x.detail("VolumeAttachment %s: by %s, attached %t", a.Name, a.Spec.Attacher, a.Status.Attached)
		if a.Status.DetachError != nil {
			x.detail("it cannot be detached: %s", a.Status.DetachError.Message)
		}
		x.remedy("see the reason in the events of the attachment", "kubectl describe volumeattachment %s", a.Name)
	}
	if len(attachments) == 0 {
		if !x.unread(Attachments) {
			x.detail("it has no VolumeAttachment: the status of the Node still lists it, or no controller has detached it")
		}
		x.remedy("see what is attached to the node", "kubectl get volumeattachments")
	}
	x.remedy(fmt.Sprintf("look at the pods of the CSI driver %s; the drain ends without the volume after volumeTimeout", driver), "")
}

// attachmentsOf returns the VolumeAttachment with the name that the attach controller gives it,
// or otherwise all of the driver.
func (x explanation) attachmentsOf(driver, handle string) []storagev1.VolumeAttachment {
	name := fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+x.NodeName)))
	ofDriver := slices.DeleteFunc(slices.Clone(x.Attachments), func(a storagev1.VolumeAttachment) bool { return a.Spec.Attacher != driver })
	if a := find(ofDriver, func(a *storagev1.VolumeAttachment) bool { return a.Name == name }); a != nil {
		return []storagev1.VolumeAttachment{*a}
	}
	return ofDriver
}
