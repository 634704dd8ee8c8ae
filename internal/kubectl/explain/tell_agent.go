// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

func tellAgentMissing(t telling, _ []*event) {
	t.cause.By = "Node " + t.NodeName
	t.agentPod()
	if all := taints(t.Node); len(all) > 0 {
		t.detail("taints of the node: %s", some(all))
	}
	t.remedy("see whether the DaemonSet of the agents is there, and wants a pod on this node", "kubectl -n %s get daemonsets", t.Namespace)
}

func tellAgentNotReady(t telling, _ []*event) {
	for _, p := range t.AgentPods {
		t.cause.By = "Pod " + p.Namespace + "/" + p.Name
		t.remedy("see why the agent is not Ready", "kubectl -n %s describe pod %s", p.Namespace, p.Name)
		t.remedy("look at its log", "kubectl -n %s logs %s --all-containers --tail=50", p.Namespace, p.Name)
	}
	t.agentPod()
}

func tellNodeOfAgent(t telling, _ []*event) {
	t.cause.By = "Node " + t.NodeName
	t.conditionOfNode()
	t.remedy("look at the node, and bring it back", "kubectl describe node %s", t.NodeName)
}

// agentPod says how the agent of the node is.
func (t telling) agentPod() {
	switch {
	case t.unread(AgentPods):
	case len(t.AgentPods) == 0:
		t.detail("no pod of Slipway's agent is on the node")
	default:
		for _, p := range t.AgentPods {
			t.detail("%s", health("agent", p))
		}
	}
}

// controller says how Slipway's controller is, which need not be installed.
func (t telling) controller() {
	if t.unread(ControllerPods) {
		return
	}
	if len(t.ControllerPods) == 0 {
		t.detail("no pod of Slipway's controller is there")
	}
	for _, p := range t.ControllerPods {
		t.detail("%s", health("controller", p))
	}
	if t.Lease != nil {
		t.leader(t.Lease.Spec)
	}
}

// leader says whether one of the controllers leads, by their lease and by the clock here.
func (t telling) leader(lease coordinationv1.LeaseSpec) {
	renewed := "at no time"
	if lease.RenewTime != nil {
		renewed = "at " + lease.RenewTime.UTC().Format(time.RFC3339)
	}
	switch {
	case lease.HolderIdentity == nil || *lease.HolderIdentity == "":
		t.detail("no controller leads: nobody holds the controllers' lease, which was renewed last %s", renewed)
	case over(lease, t.now):
		t.detail("no controller leads: the controllers' lease was renewed last %s, and holds for %d s", renewed, *lease.LeaseDurationSeconds)
	default:
		t.detail("the controllers' lease is held by %s, and was renewed last %s", *lease.HolderIdentity, renewed)
		return
	}
	t.remedy("see why no controller leads: does one run, and may it write the lease?", "kubectl -n %s get deployments,pods,leases", t.Namespace)
}

// over tells whether the lease was renewed too long ago, if it says how long it holds.
func over(lease coordinationv1.LeaseSpec, now time.Time) bool {
	if lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return false
	}
	return now.Sub(lease.RenewTime.Time) > time.Duration(*lease.LeaseDurationSeconds)*time.Second
}

func health(role string, p corev1.Pod) string {
	if isReady(&p) {
		return role + " " + p.Name + " is Ready"
	}
	return role + " " + notReady(p)
}
