// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

func tellNotCordoned(t telling) {
	if t.Node != nil {
		if found := cordons.By(t.Node); found.By != "" {
			t.detail("spec.unschedulable was last written by %q at %s", found.By, found.Since.UTC().Format(time.RFC3339))
		}
	}
	t.remedy("cordon the node again: the drain goes on at once", "kubectl cordon %s", t.NodeName)
	t.remedy("or cancel the event, if the node is to stay in service", "kubectl delete lifecycleevent %s", t.event.Name)
}

func tellTaintMissing(t telling) {
	t.remedy("look at the control plane: kube-controller-manager adds the taint "+corev1.TaintNodeUnschedulable,
		"kubectl -n kube-system get leases,pods")
}

func tellNodeGone(t telling) {
	for _, p := range t.Pods {
		t.detail("Pod %s/%s is still bound to the node", p.Namespace, p.Name)
	}
	t.remedy("see what is left: kube-controller-manager removes pods of Nodes that are gone within minutes",
		"kubectl get pods -A --field-selector=spec.nodeName=%s", t.NodeName)
}

func tellServer(t telling) {
	t.remedy("ask the API server how it is, and which APIs it cannot serve", "kubectl get --raw=/readyz?verbose")
	t.remedy("see whether an API is away that Slipway needs: of events, rules, budgets or pods", "kubectl get apiservices")
	t.remedy("see who asks for much", "kubectl get --raw=/debug/api_priority_and_fairness/dump_priority_levels")
}

func tellRuleInvalid(t telling) {
	named := 0
	for _, r := range t.Rules {
		if strings.Contains(t.cause.Text, "DrainRule "+r.Namespace+"/"+r.Name+":") {
			named++
			t.cause.By = "DrainRule " + r.Namespace + "/" + r.Name
			t.remedy("see the rule, and correct what the message says", "kubectl -n %s get drainrule %s -o yaml", r.Namespace, r.Name)
			t.remedy("or delete it: its pods are evicted then, as those without a rule are", "kubectl -n %s delete drainrule %s", r.Namespace, r.Name)
		}
	}
	if named == 0 {
		t.remedy("find the rule that the message names, and correct or delete it", "kubectl get drainrules -A")
	}
}

func tellReadRefused(t telling) {
	t.remedy("see which rights Slipway has", "kubectl get clusterrolebindings -o wide")
	t.remedy("bring them back, with the chart or the manifest that Slipway was installed with", "")
}

// tellNodeNotReady is for a pod that has not ended because nobody on the node says so.
func tellNodeNotReady(t telling) {
	t.conditionOfNode()
	t.remedy("look at the node, and bring it back if you can", "kubectl describe node %s", t.NodeName)
	t.remedy("only when the machine is certainly off: say so. Its pods are removed then, and its volumes detached; on a machine "+
		"that runs, two of a pod may write to one volume",
		"kubectl taint node %s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", t.NodeName)
}

func (t telling) conditionOfNode() {
	if t.Node == nil {
		return
	}
	for _, c := range t.Node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			t.detail("Node %s: Ready is %s since %s (%s): %s", t.Node.Name, c.Status,
				c.LastTransitionTime.UTC().Format(time.RFC3339), c.Reason, c.Message)
		}
	}
}
