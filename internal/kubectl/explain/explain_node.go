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

// blockerExplainers add facts and remedies to blockers. A code that is missing here has the
// remedy of the catalogue.
var blockerExplainers = map[string]func(explanation){
	"NodeNotCordoned":      explainNotCordoned,
	"NodeTaintMissing":     explainTaintMissing,
	"NodeGone":             explainNodeGone,
	"APIServerUnavailable": explainServer,
	"APIServerOverloaded":  explainServer,
	"RuleInvalid":          explainRuleInvalid,
	"ReadRefused":          explainReadRefused,

	"BudgetExhausted":       explainBudget,
	"BudgetImpossible":      explainBudget,
	"BudgetNotObserved":     explainBudgetController,
	"BudgetSyncFailed":      explainBudget,
	"MultipleBudgets":       explainBudgets,
	"EvictionRefused":       explainRefused,
	"EvictionTimedOut":      explainRefused,
	"EvictionWithoutEffect": explainWithoutEffect,
	"DeletionRefused":       explainRefused,
	"NamespaceTerminating":  explainNamespace,

	"Terminating":          explainTerminating,
	"NodeNotReady":         explainNodeNotReady,
	"PodTimedOut":          explainGrace,
	"WaitingForCompletion": explainWaiting,
	"UnmanagedPod":         explainAllowed("unmanagedPods"),
	"LocalStorage":         explainAllowed("localStorage"),
	"AwaitingResponder":    explainResponder,
	"ResponderMissing":     explainUnanswered,
	"RespondersFailed":     explainUnanswered,
	"EvictionAPIMissing":   explainEvictionAPI,
	"VolumeAttached":       explainVolume,
	"PodRecurring":         explainRecurring,
	"PodSkipped":           explainSkipped,
	"StaticPodStays":       explainStatic,
	"StaticPodLeft":        explainStatic,
}

func explainNotCordoned(x explanation) {
	if x.Node != nil {
		if found := cordons.By(x.Node); found.By != "" {
			x.detail("spec.unschedulable was last written by %q at %s", found.By, found.Since.UTC().Format(time.RFC3339))
		}
	}
	x.remedy("cordon the node again: the drain goes on at once", "kubectl cordon %s", x.NodeName)
	x.remedy("or cancel the event, if the node is to stay in service", "kubectl delete lifecycleevent %s", x.event.Name)
}

func explainTaintMissing(x explanation) {
	x.remedy("look at the control plane: kube-controller-manager adds the taint "+corev1.TaintNodeUnschedulable,
		"kubectl -n kube-system get leases,pods")
}

func explainNodeGone(x explanation) {
	for _, p := range x.Pods {
		x.detail("Pod %s/%s is still bound to the node", p.Namespace, p.Name)
	}
	x.remedy("see which pods are left: kube-controller-manager removes pods of deleted Nodes within minutes",
		"kubectl get pods -A --field-selector=spec.nodeName=%s", x.NodeName)
}

func explainServer(x explanation) {
	x.remedy("see the health of the API server, and which APIs it cannot serve", "kubectl get --raw=/readyz?verbose")
	x.remedy("see whether an API that Slipway needs is unavailable: of events, rules, budgets or pods", "kubectl get apiservices")
	x.remedy("see which clients send many requests", "kubectl get --raw=/debug/api_priority_and_fairness/dump_priority_levels")
}

func explainRuleInvalid(x explanation) {
	named := 0
	for _, r := range x.Rules {
		if strings.Contains(x.cause.Text, "DrainRule "+r.Namespace+"/"+r.Name+":") {
			named++
			x.cause.By = "DrainRule " + r.Namespace + "/" + r.Name
			x.remedy("see the rule, and correct the error in the message", "kubectl -n %s get drainrule %s -o yaml", r.Namespace, r.Name)
			x.remedy("or delete it: its pods are evicted then like pods without a rule", "kubectl -n %s delete drainrule %s", r.Namespace, r.Name)
		}
	}
	if named == 0 {
		x.remedy("find the rule that the message names, and correct or delete it", "kubectl get drainrules -A")
	}
}

func explainReadRefused(x explanation) {
	x.remedy("see which permissions Slipway has", "kubectl get clusterrolebindings -o wide")
	x.remedy("restore them, with the chart or the manifest that Slipway was installed with", "")
}

// explainNodeNotReady is for a pod whose end the kubelet does not confirm.
func explainNodeNotReady(x explanation) {
	x.conditionOfNode()
	x.remedy("look at the node, and repair it if you can", "kubectl describe node %s", x.NodeName)
	x.remedy("only when the machine is certainly off: taint the Node. Its pods are removed then, and its volumes detached; while the "+
		"machine runs, two instances of a pod may write to one volume",
		"kubectl taint node %s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", x.NodeName)
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

// explainVolume finds the VolumeAttachment of a volume, and why the volume is not detached.
func explainVolume(x explanation) {
	driver, handle, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(x.cause.By, "Volume "), "kubernetes.io/csi/"), "^")
	attachments := x.attachmentsOf(driver, handle)
	for _, a := range attachments {
		x.detail("VolumeAttachment %s: by %s, attached %t", a.Name, a.Spec.Attacher, a.Status.Attached)
		if a.Status.DetachError != nil {
			x.detail("it cannot be detached: %s", a.Status.DetachError.Message)
		}
		x.remedy("see why the volume is not detached", "kubectl describe volumeattachment %s", a.Name)
	}
	if len(attachments) == 0 {
		if !x.unread(Attachments) {
			x.detail("it has no VolumeAttachment: the status of the Node still lists it, or nothing has detached it")
		}
		x.remedy("see what is attached to the node", "kubectl get volumeattachments")
	}
	x.remedy(fmt.Sprintf("look at the pods of the CSI driver %s; the drain ends without the volume after volumeTimeout", driver), "")
}

// attachmentsOf returns the VolumeAttachment of the volume, by the name that the attach
// controller gives it; if none has that name, all of the driver.
func (x explanation) attachmentsOf(driver, handle string) []storagev1.VolumeAttachment {
	name := fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+x.NodeName)))
	ofDriver := slices.DeleteFunc(slices.Clone(x.Attachments), func(a storagev1.VolumeAttachment) bool { return a.Spec.Attacher != driver })
	if i := slices.IndexFunc(ofDriver, func(a storagev1.VolumeAttachment) bool { return a.Name == name }); i >= 0 {
		return ofDriver[i : i+1]
	}
	return ofDriver
}
