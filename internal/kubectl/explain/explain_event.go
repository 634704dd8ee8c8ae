// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/podutils"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// conditionExplainers add facts and remedies to reasons of conditions.
var conditionExplainers = map[string]explainer{
	reasons.CodeNotNoticed: {facts: func(x explanation) {
		x.agentPod()
		x.controller()
		x.remedy("see Slipway's pods", "kubectl -n {SLIPWAY} get pods -o wide")
	}},
	reasons.CodeClaimedByAnother: {remedies: []Remedy{
		{"wait for the controller that has claimed the event, or look at its log", ""},
		{"if that controller no longer exists, release the event; this needs the verb release-claims", "kubectl annotate lifecycleevent {EVENT} slipway.dev/release-claim=true"},
	}},
	lifecyclev1alpha1.ReasonGated: {facts: explainGated},
	lifecyclev1alpha1.ReasonTransitionNotFound: {facts: explainTransitionNotFound, remedies: []Remedy{
		{"see which transitions there are", "kubectl get lifecycletransitions"},
		{"start the driver that publishes it; or delete the event, and create it again with the right name", "kubectl delete lifecycleevent {EVENT}"},
	}},
	lifecyclev1alpha1.ReasonDriverMissing:  {facts: explainDriver},
	lifecyclev1alpha1.ReasonDriverNotReady: {facts: explainDriver},
	lifecyclev1alpha1.ReasonDriverRegisteredTwice: {facts: explainDriver, remedies: []Remedy{
		{"see where the driver is registered", "kubectl slipway drivers {NODE}"},
	}},
	lifecyclev1alpha1.ReasonWaitingForTurn: {facts: explainTurn},
	lifecyclev1alpha1.ReasonNodeNotFound: {by: "Node {NODE}", remedies: []Remedy{
		{"see which nodes exist: the name may be wrong", "kubectl get nodes"},
	}},
	lifecyclev1alpha1.ReasonAgentMissing: {by: "Node {NODE}", facts: explainAgentMissing, remedies: []Remedy{
		{"see whether the DaemonSet of the agents exists, and schedules a pod on this node", "kubectl -n {SLIPWAY} get daemonsets"},
	}},
	lifecyclev1alpha1.ReasonAgentNotReady: {facts: explainAgentNotReady},
	lifecyclev1alpha1.ReasonNodeNotReady: {by: "Node {NODE}", facts: explanation.conditionOfNode, remedies: []Remedy{
		{"look at the node, and repair it", "kubectl describe node {NODE}"},
	}},
	lifecyclev1alpha1.ReasonClaimModeChanged: {facts: explanation.controller, remedies: []Remedy{
		{"cancel the event, and create it again", "kubectl delete lifecycleevent {EVENT}"},
	}},
	lifecyclev1alpha1.ReasonSLAExpired: {facts: explainLate, remedies: []Remedy{
		{"remove the blocker, then drain again; pods that have left need not leave twice", "kubectl slipway drain {NODE}"},
	}},
	string(lifecyclev1alpha1.GuardLastSchedulableNode):    {facts: explainGuard},
	string(lifecyclev1alpha1.GuardSecondControlPlaneNode): {facts: explainGuard},
	lifecyclev1alpha1.ReasonHeldByAnother:                 {facts: explainHeld},
	lifecyclev1alpha1.ReasonHeldByOthers:                  {by: "Node {NODE}", remedies: holders},
	lifecyclev1alpha1.ReasonTooManyHolds:                  {by: "Node {NODE}", remedies: holders},
	lifecyclev1alpha1.ReasonLeaseLost:                     {remedies: lease},
	"CordonedByOthers": {by: "Node {NODE}", remedies: []Remedy{
		{"if the party that cordoned it agrees", "kubectl uncordon {NODE}"},
	}},
}

var lease = []Remedy{
	{"see the holder of the lease, and ask the holder to release it", "kubectl get lease -n kube-node-maintenance {NODE} -o yaml"},
}

var holders = []Remedy{
	{"see the holders of the node, and ask them to return it", "kubectl get nodeholds --field-selector=spec.nodeName={NODE}"},
	{"if they no longer work there, release their holds", "kubectl slipway uncordon {NODE} --release-all"},
}

// explainHeld is for a hold of the node (GuardsPassed), or for its lease (LeaseHeld).
func explainHeld(x explanation) {
	remedies := lease
	if c := lifecycleevent.Condition(x.event, lifecyclev1alpha1.ConditionGuardsPassed); c != nil && c.Reason == lifecyclev1alpha1.ReasonHeldByAnother {
		x.cause.By, remedies = "Node "+x.event.Spec.BindingNode, holders
	}
	for _, r := range remedies {
		x.remedy(r.Text, r.Command)
	}
}

func explainGated(x explanation) {
	for i, gate := range x.event.Spec.Gates {
		if x.cause.By == "" {
			x.cause.By = "gate " + gate.Name
		}
		if gate.Name == lifecyclev1alpha1.GateGuards {
			x.controller()
			x.remedy("Slipway's controller removes slipway.dev/guards when no other gate is left and its guards let the event pass", "")
			continue
		}
		if gate.Name == lifecyclev1alpha1.GateLease {
			x.controller()
			x.remedy("Slipway's controller removes slipway.dev/lease when only its own gates are left and Slipway holds the node's lease", "")
			continue
		}
		owner, _, found := strings.Cut(gate.Name, "/")
		if found {
			x.detail("gate %s belongs to %s", gate.Name, owner)
		}
		x.remedy(fmt.Sprintf("ask the owner of gate %s to remove it; every identity that may change the event can remove it, too", gate.Name),
			`kubectl patch lifecycleevent %s --type=json -p '[{"op":"test","path":"/spec/gates/%d/name","value":"%s"},{"op":"remove","path":"/spec/gates/%d"}]'`,
			x.event.Name, i, quotable(gate.Name), i)
	}
}

// quotable is a gate's name where it is one, so that it can stand in a command.
func quotable(name string) any {
	if word.MatchString(strings.ReplaceAll(name, "/", "")) {
		return raw(name)
	}
	return name
}

// raw is a checked text, which may have a slash.
type raw string

func explainTransitionNotFound(x explanation) {
	x.cause.By = "LifecycleTransition " + x.event.Spec.TransitionName
	var names []string
	for _, lct := range x.Transitions {
		names = append(names, lct.Name)
	}
	x.detail("there is: %s", some(names))
}

func explainDriver(x explanation) {
	driver := ""
	if d := x.event.Status.Driver; d != nil {
		driver = d.Name
	} else if lct := x.transition(x.event.Spec.TransitionName); lct != nil {
		driver = lct.Spec.Driver
	}
	x.cause.By = "driver " + driver
	x.agentPod()
	x.remedy("see which pods run on the node: one of them must be driver "+driver, "kubectl get pods -A --field-selector=spec.nodeName={NODE}")
	x.remedy("look at the driver's log", "")
}

func explainTurn(x explanation) {
	other := before(x.event, x.all)
	if other == nil {
		return
	}
	x.cause.By = "LifecycleEvent " + other.Name
	how := "waits too, and is older"
	switch {
	case other.Status.ClaimStatus.Terminal():
		how = "has ended, and is not deleted yet"
	case !pending(other):
		how = "is claimed" + progress(other)
	}
	x.detail("LifecycleEvent %s (%s) %s", other.Name, other.Spec.TransitionName, how)
	x.remedy("wait for the other event, or see its blockers", "kubectl get lifecycleevent {BY}")
	x.remedy("or cancel the other event, if it is not needed any more", "kubectl delete lifecycleevent {BY}")
}

// before returns the event that comes before this one.
func before(e *event, all []*event) *event {
	var found *event
	mine := false
	for _, other := range all {
		switch {
		case other == e:
			mine = true
		case rank(other) == 0:
			return other
		case other.Status.ClaimStatus.Terminal(), !mine && found == nil:
			found = other
		}
	}
	return found
}

func explainLate(x explanation) {
	for i, b := range x.event.Status.Blockers {
		if i == maxNamed {
			break
		}
		x.detail("in the end: %s: %s %s", b.Object, b.Reason, b.By)
	}
}

func explainGuard(x explanation) {
	guard := x.cause.Code
	x.cause.By = "guard " + guard
	list := []string{`"` + guard + `"`}
	for _, g := range x.event.Spec.Allow {
		if word.MatchString(string(g)) {
			list = append(list, `"`+string(g)+`"`)
		}
	}
	x.remedy("see the other nodes: the guard passes when enough of them are Ready and schedulable", "kubectl get nodes")
	x.remedy("or allow it, if you accept that; it needs the permission to override guards",
		`kubectl patch lifecycleevent {EVENT} --type=merge -p '{"spec":{"allow":[%s]}}'`, raw(strings.Join(list, ",")))
}

func explainAgentMissing(x explanation) {
	x.agentPod()
	if x.Node != nil && len(x.Node.Spec.Taints) > 0 {
		var all []string
		for _, taint := range x.Node.Spec.Taints {
			all = append(all, taint.ToString())
		}
		x.detail("taints of the node: %s", some(all))
	}
}

func explainAgentNotReady(x explanation) {
	for _, p := range x.AgentPods {
		x.cause.By = "Pod " + p.Namespace + "/" + p.Name
		x.remedy("see the state of the agent, which is not Ready", "kubectl -n %s describe pod %s", p.Namespace, p.Name)
		x.remedy("look at its log", "kubectl -n %s logs %s --all-containers --tail=50", p.Namespace, p.Name)
	}
	x.agentPod()
}

// agentPod reports on the agent of the node.
func (x explanation) agentPod() {
	switch {
	case x.unread(AgentPods):
	case len(x.AgentPods) == 0:
		x.detail("no pod of Slipway's agent is on the node")
	default:
		for _, p := range x.AgentPods {
			x.detail("%s", health("agent", p))
		}
	}
}

// controller reports on Slipway's controller, which need not be installed.
func (x explanation) controller() {
	if x.unread(ControllerPods) {
		return
	}
	if len(x.ControllerPods) == 0 {
		x.detail("there is no pod of Slipway's controller")
	}
	for _, p := range x.ControllerPods {
		x.detail("%s", health("controller", p))
	}
	if x.Lease != nil {
		x.leader(x.Lease.Spec)
	}
}

// leader reports whether one of the controllers leads, by their lease and the local clock.
func (x explanation) leader(lease coordinationv1.LeaseSpec) {
	renewed := "at no time"
	if lease.RenewTime != nil {
		renewed = "at " + lease.RenewTime.UTC().Format(time.RFC3339)
	}
	switch {
	case lease.HolderIdentity == nil || *lease.HolderIdentity == "":
		x.detail("no controller leads: the controllers' lease has no holder, and was renewed last %s", renewed)
	case over(lease, x.now):
		x.detail("no controller leads: the controllers' lease was renewed last %s, and lasts %d s", renewed, *lease.LeaseDurationSeconds)
	default:
		x.detail("%s holds the controllers' lease, and renewed it last %s", *lease.HolderIdentity, renewed)
		return
	}
	x.remedy("see whether a controller runs, and may write the lease", "kubectl -n {SLIPWAY} get deployments,pods,leases")
}

// over reports whether the lease has expired. A lease without a duration never expires.
func over(lease coordinationv1.LeaseSpec, now time.Time) bool {
	if lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return false
	}
	return now.Sub(lease.RenewTime.Time) > time.Duration(*lease.LeaseDurationSeconds)*time.Second
}

func health(role string, p corev1.Pod) string {
	if podutils.IsPodReady(&p) {
		return role + " " + p.Name + " is Ready"
	}
	return role + " " + notReady(p)
}

func some(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	default:
		return strings.Join(names, ", ")
	}
}
