// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// advice is a possible action, with its command.
type advice struct{ what, command string }

// ofNodes are the actions for a node in a phase, or with a reason in any phase except Failed. In
// their commands, capital words stand for names.
var ofNodes = []struct {
	phase  slipwayv1alpha1.MaintenanceNodePhase
	reason string
	advice
}{
	{phase: slipwayv1alpha1.NodeFailed, advice: advice{"Try the failed nodes again", "kubectl slipway maintenance retry NAME"}},
	{reason: slipwayv1alpha1.ReasonBlocked, advice: advice{"See the blockers of a drain, and the remedies", "kubectl slipway explain NODE"}},
	{reason: slipwayv1alpha1.ReasonDeadlock, advice: advice{"See the drains that wait for each other", "kubectl slipway explain NODE"}},
	{reason: slipwayv1alpha1.ReasonHookWaiting, advice: advice{"Open the hook of a node", "kubectl slipway maintenance open NAME NODE HOOK"}},
	{reason: slipwayv1alpha1.ReasonWaitingForWork, advice: advice{"Report that the work on a node is done", "kubectl slipway done NODE"}},
	{reason: slipwayv1alpha1.ReasonJobInvalid, advice: advice{"See the PodTemplates of Jobs: the one of this maintenance is missing or invalid", "kubectl get podtemplates -n NAMESPACE"}},
	{reason: slipwayv1alpha1.ReasonJobRefused, advice: advice{"See quotas that may refuse the Job of a node; the controller tries again", "kubectl describe resourcequotas -n NAMESPACE"}},
	{reason: slipwayv1alpha1.ReasonStepRefused, advice: advice{"See the LifecycleEvent of a node whose next step is refused; the controller tries again", "kubectl describe lifecycleevent EVENT"}},
	{reason: slipwayv1alpha1.ReasonDaemonSetsUnready, advice: advice{"See the pods of a returned node that is not healthy", "kubectl get pods -A -o wide --field-selector=spec.nodeName=NODE"}},
	{phase: slipwayv1alpha1.NodeUnhealthy, advice: advice{"Count a node as returned that you cannot repair", "kubectl slipway done NODE --accept-unhealthy"}},
}

// next returns the possible actions.
func (r *maintenanceRow) next() (all []advice) {
	together := r.of.Spec.Rollout == nil
	add := func(what, command string) { all = append(all, advice{what, r.named(command, "")}) }
	switch {
	case r.over():
		return nil
	case r.State == refused && r.Code == slipwayv1alpha1.ReasonAllControlPlaneNodes:
		add("Allow it", r.allowing(slipwayv1alpha1.GuardAllControlPlaneNodes))
	case r.Stage == slipwayv1alpha1.StageIdle:
		add("Begin", "kubectl slipway maintenance stage NAME drain")
	case r.State == isPaused:
		add("Continue", "kubectl slipway maintenance resume NAME")
	case together && r.State == state.Cordoned:
		add("Drain the nodes", "kubectl slipway maintenance stage NAME drain")
	case together && r.State == state.Drained:
		add("Return the nodes after the work", "kubectl slipway maintenance stage NAME complete")
	case r.Code == slipwayv1alpha1.ReasonPendingPods:
		add("See the pods that do not run: other nodes start when fewer pods wait", "kubectl get pods -A --sort-by=.metadata.creationTimestamp")
	}
	if guards := r.heldByGuards(); len(guards) > 0 {
		add("Allow it", r.allowing(guards...))
	}
	for _, a := range ofNodes {
		i := slices.IndexFunc(r.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return n.Phase == a.phase || isHeldBy(n, a.reason) })
		if i >= 0 {
			all = append(all, advice{a.what, r.named(a.command, r.NodeStatuses[i].Name)})
		} else if a.reason != "" && a.reason == r.Code && a.reason == slipwayv1alpha1.ReasonJobInvalid {
			add(a.what, a.command)
		}
		if i >= 0 && a.reason == slipwayv1alpha1.ReasonDeadlock && !together {
			add("After you have added capacity, let these nodes give way to each other again", "kubectl slipway maintenance retry NAME")
		}
	}
	return all
}

// named puts the names into a command.
func (r *maintenanceRow) named(command, node string) string {
	hook := "HOOK"
	if len(r.of.Spec.Hooks) == 1 {
		hook = ui.Clean(r.of.Spec.Hooks[0].Name)
	}
	node = ui.Clean(node)
	return strings.NewReplacer("NAMESPACE", maintenance.JobNamespace(release.Namespace), "NAME", ui.Clean(r.Name), "NODE", node, "HOOK", hook, "EVENT", maintenance.DrainName(node)).Replace(command)
}

// heldByGuards returns the guards that hold nodes, and that spec.allow can list.
func (r *maintenanceRow) heldByGuards() (guards []slipwayv1alpha1.MaintenanceGuard) {
	held := func(guard lifecyclev1alpha1.Guard) bool {
		return slices.ContainsFunc(r.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return isHeldBy(n, string(guard)) })
	}
	if held(lifecyclev1alpha1.GuardLastSchedulableNode) {
		guards = append(guards, slipwayv1alpha1.GuardLastSchedulableNode)
	}
	// A rollout waits for the other node.
	if r.of.Spec.Rollout == nil && held(lifecyclev1alpha1.GuardSecondControlPlaneNode) {
		guards = append(guards, slipwayv1alpha1.GuardAllControlPlaneNodes)
	}
	return guards
}

// allowing returns the command that adds guards to spec.allow. A merge patch replaces the list, so it
// repeats the present guards.
func (r *maintenanceRow) allowing(guards ...slipwayv1alpha1.MaintenanceGuard) string {
	all := slices.Concat(r.of.Spec.Allow, guards)
	slices.Sort(all)
	var list []string
	for _, guard := range slices.Compact(all) {
		list = append(list, `"`+ui.Clean(string(guard))+`"`)
	}
	return fmt.Sprintf(`kubectl patch nodemaintenances.slipway.dev %s --type=merge -p '{"spec":{"allow":[%s]}}'`, ui.Clean(r.Name), strings.Join(list, ","))
}

// isHeldBy reports whether a node has this reason, and has not failed.
func isHeldBy(n slipwayv1alpha1.MaintenanceNodeStatus, reason string) bool {
	return n.Phase != slipwayv1alpha1.NodeFailed && n.Reason == reason && reason != ""
}
