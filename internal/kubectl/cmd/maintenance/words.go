// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// pace is how many nodes are out at a time, and what is done to each.
func (r *maintenanceRow) pace() string {
	rollout := r.of.Spec.Rollout
	if rollout == nil {
		return "All nodes together"
	}
	if rollout.MaxUnavailable == nil && rollout.PerDomain != nil {
		return fmt.Sprintf("At most %d of each %s out at a time", *rollout.PerDomain, rollout.TopologyKey) + r.rest()
	}
	text := "At most 1 node out at a time"
	if most := rollout.MaxUnavailable; most != nil && most.String() != "1" {
		text = fmt.Sprintf("At most %s nodes out at a time", most)
		if strings.HasSuffix(most.String(), "%") {
			text = fmt.Sprintf("At most %s of the nodes out at a time", most)
		}
	}
	switch {
	case rollout.TopologyKey != "" && rollout.PerDomain != nil:
		text += fmt.Sprintf(", and %d of each %s", *rollout.PerDomain, rollout.TopologyKey)
	case rollout.TopologyKey != "":
		text += fmt.Sprintf(", one %s after the other", rollout.TopologyKey)
	}
	return text + r.rest()
}

// rest is what else there is to say of a rollout.
func (r *maintenanceRow) rest() string {
	text, rollout := "", r.of.Spec.Rollout
	if rollout.Batches {
		text += ", in batches"
	}
	if rollout.PauseAfter != nil {
		text += fmt.Sprintf(", pause after %d", *rollout.PauseAfter)
	}
	return text + ". Work: " + workText(r.of.Spec.Work)
}

func workText(work *slipwayv1alpha1.MaintenanceWork) string {
	text := "by hand"
	switch {
	case work == nil:
		return text
	case work.Type == slipwayv1alpha1.WorkNone:
		return "none"
	case work.Type == slipwayv1alpha1.WorkJob:
		text = "a Job of PodTemplate " + work.PodTemplate
	}
	if work.Timeout != nil {
		text += fmt.Sprintf(", within %s", work.Timeout.Duration)
	}
	return text
}

// when is the window, as far as it is still to come or going on.
func (r *maintenanceRow) when(now time.Time) string {
	window := r.of.Spec.Window
	if window == nil || r.over() {
		return ""
	}
	var parts []string
	if at := window.NotBefore; at != nil && at.After(now) {
		parts = append(parts, fmt.Sprintf("Begins at %s (%s)", at.UTC().Format(time.RFC3339), cli.Until(at, now)))
	}
	if at := window.Deadline; at != nil {
		when := cli.Until(at, now)
		parts = append(parts, fmt.Sprintf("No node begins after %s (%s)", at.UTC().Format(time.RFC3339), when))
	}
	return strings.Join(parts, ". ")
}

// advice is something that can be done, with the command for it.
type advice struct{ what, command string }

// next is what can be done.
func (r *maintenanceRow) next() []advice {
	name := ui.Clean(r.Name)
	maintenance := "kubectl slipway maintenance "
	together := r.of.Spec.Rollout == nil
	var all []advice
	switch {
	case r.over():
		return nil
	case r.State == maintenanceRefused && r.Code == slipwayv1alpha1.ReasonAllControlPlaneNodes:
		all = append(all, r.allowing(name, slipwayv1alpha1.GuardAllControlPlaneNodes))
	case r.Stage == slipwayv1alpha1.StageIdle:
		all = append(all, advice{"Begin", maintenance + "stage " + name + " drain"})
	case r.State == maintenancePaused:
		all = append(all, advice{"Go on", maintenance + "resume " + name})
	case together && r.State == maintenanceCordoned:
		all = append(all, advice{"Drain the nodes", maintenance + "stage " + name + " drain"})
	case together && r.State == maintenanceDrained:
		all = append(all, advice{"Return the nodes, when the work is done", maintenance + "stage " + name + " complete"})
	case r.Code == slipwayv1alpha1.ReasonPendingPods:
		all = append(all, advice{"See why the pods that it names do not run: nodes begin again when fewer do not", "kubectl get pods -A --sort-by=.metadata.creationTimestamp"})
	}
	if held := r.heldByGuards(); len(held) > 0 {
		all = append(all, r.allowing(name, held...))
	}
	return append(all, r.nextOfNodes(name)...)
}

// heldByGuards is what spec.allow could list for nodes that guards hold.
func (r *maintenanceRow) heldByGuards() (guards []slipwayv1alpha1.MaintenanceGuard) {
	if slices.ContainsFunc(r.NodeStatuses, heldBy(string(lifecyclev1alpha1.GuardLastSchedulableNode))) {
		guards = append(guards, slipwayv1alpha1.GuardLastSchedulableNode)
	}
	// With a rollout it is waited for.
	if r.of.Spec.Rollout == nil && slices.ContainsFunc(r.NodeStatuses, heldBy(string(lifecyclev1alpha1.GuardSecondControlPlaneNode))) {
		guards = append(guards, slipwayv1alpha1.GuardAllControlPlaneNodes)
	}
	return guards
}

// allowing has guards let it pass: besides those that do already, which the patch would take
// away else.
func (r *maintenanceRow) allowing(name string, guards ...slipwayv1alpha1.MaintenanceGuard) advice {
	all := slices.Concat(r.of.Spec.Allow, guards)
	slices.Sort(all)
	var list []string
	for _, guard := range slices.Compact(all) {
		list = append(list, `"`+ui.Clean(string(guard))+`"`)
	}
	return advice{"Have it done all the same", fmt.Sprintf(
		`kubectl patch nodemaintenance %s --type=merge -p '{"spec":{"allow":[%s]}}'`, name, strings.Join(list, ","))}
}

// nextOfNodes is what can be done about nodes: for each kind of trouble, with the first node
// that has it.
func (r *maintenanceRow) nextOfNodes(name string) []advice {
	var all []advice
	first := func(is func(slipwayv1alpha1.MaintenanceNodeStatus) bool, what string, command func(node string) string) {
		if i := slices.IndexFunc(r.NodeStatuses, is); i >= 0 {
			all = append(all, advice{what, "kubectl " + command(ui.Clean(r.NodeStatuses[i].Name))})
		}
	}
	failed := func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return n.Phase == slipwayv1alpha1.NodeFailed }
	first(failed, "Try the nodes that have failed again", func(string) string { return "slipway maintenance retry " + name })
	first(heldBy(slipwayv1alpha1.ReasonBlocked), "See why a drain is held up, and what helps", func(node string) string { return "slipway explain " + node })
	if r.of.Spec.Rollout != nil {
		first(heldBy(slipwayv1alpha1.ReasonDeadlock), "Have nodes whose drains wait for each other give way again, once there is room for their pods",
			func(string) string { return "slipway maintenance retry " + name })
	}
	first(heldBy(slipwayv1alpha1.ReasonDeadlock), "See what drains wait for that wait for each other", func(node string) string { return "slipway explain " + node })
	first(heldBy(slipwayv1alpha1.ReasonHookWaiting), "Let a node go on", func(node string) string {
		return "slipway maintenance open " + name + " " + node + " " + r.hookNames()
	})
	first(heldBy(slipwayv1alpha1.ReasonWaitingForWork), "Say that the work on a node is done", func(node string) string { return "slipway done " + node })
	if invalid := heldBy(slipwayv1alpha1.ReasonJobInvalid); r.Code == slipwayv1alpha1.ReasonJobInvalid || slices.ContainsFunc(r.NodeStatuses, invalid) {
		all = append(all, advice{"See the PodTemplates of Jobs: the one of this maintenance is missing, or wrong", "kubectl get podtemplates -n " + release.Namespace})
	}
	first(heldBy(slipwayv1alpha1.ReasonJobRefused), "See what may refuse the Job of a node; it is tried again by itself", func(string) string {
		return "describe resourcequotas -n " + release.Namespace
	})
	first(heldBy(slipwayv1alpha1.ReasonStepRefused), "See what is there where the next step of a node is refused; it is tried again by itself", func(node string) string {
		return "describe lifecycleevent " + maintenance.DrainName(node)
	})
	first(heldBy(slipwayv1alpha1.ReasonDaemonSetsUnready), "See the pods of a node that is back, and not healthy", func(node string) string {
		return "get pods -A -o wide --field-selector=spec.nodeName=" + node
	})
	unhealthy := func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return n.Phase == slipwayv1alpha1.NodeUnhealthy }
	first(unhealthy, "Have a node count as back that nobody can make healthy", func(node string) string {
		return "slipway done " + node + " --accept-unhealthy"
	})
	return all
}

// heldBy is that a node is held up by something, and has not failed.
func heldBy(code string) func(slipwayv1alpha1.MaintenanceNodeStatus) bool {
	return func(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
		return n.Phase != slipwayv1alpha1.NodeFailed && n.Reason == code
	}
}

// hookNames is what stands for the hook in a command.
func (r *maintenanceRow) hookNames() string {
	if len(r.of.Spec.Hooks) == 1 {
		return ui.Clean(r.of.Spec.Hooks[0].Name)
	}
	return "HOOK"
}

// selectorText is a selector of labels, as people write it.
func selectorText(selector *metav1.LabelSelector) string { return metav1.FormatLabelSelector(selector) }
