// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/node/availability"
)

// maintaining creates a maintenance.
type maintaining struct {
	*cli.Tool
	cluster cli.Cluster
	client  client.WithWatch
	flags   *maintainFlags
	wanted  *slipwayv1alpha1.NodeMaintenance
}

// look names the nodes that are selected now, and warns of likely mistakes.
func (p *maintaining) look(ctx context.Context) error {
	nodes, err := p.ListNodes(ctx, p.client, "it is not known which are selected")
	if err != nil || nodes == nil {
		return err
	}
	others, err := cli.ListMaintenances(ctx, p.client)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	var budgets slipwayv1alpha1.NodeAvailabilityBudgetList
	if err := p.client.List(ctx, &budgets); err != nil && !apierrors.IsForbidden(err) && !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list NodeAvailabilityBudgets: %w", err)
	}
	found := lookAt(p.wanted, p.flags.nodes, nodes, others)
	if why := excess(p.wanted, nodes, budgets.Items); why != "" && found.wrong == nil {
		found.wrong = fmt.Errorf("%s: leave out --all-together, or select fewer nodes; the command has created no maintenance", why)
	}
	for _, note := range found.notes {
		p.Notef("%s", note)
	}
	if found.wrong != nil && p.flags.DryRun == cli.DryRunClient {
		p.Notef("Warning: %v", found.wrong)
		return nil
	}
	return found.wrong
}

// mayDeleteNodes returns an error where the caller may not delete nodes: the server requires this
// permission for maintenances (KEP-4212). If the review fails, the server decides.
func (p *maintaining) mayDeleteNodes(ctx context.Context) error {
	clients, err := p.cluster.Kubernetes()
	if err != nil {
		return err
	}
	review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}},
	}, metav1.CreateOptions{})
	if err == nil && !review.Status.Allowed {
		return errNoPermission
	}
	return nil
}

// errNoPermission means that the caller may not maintain nodes.
var errNoPermission = errors.New("you may not delete nodes, and a user who takes nodes out of service with a NodeMaintenance needs this permission: " +
	"ask an administrator for a ClusterRole with the verb delete on nodes, and the verbs get, list, watch, create, update and patch on " +
	"nodemaintenances.slipway.dev. The command has created no maintenance")

// create creates the maintenance. An existing one of that name is an error.
func (p *maintaining) create(ctx context.Context) (*slipwayv1alpha1.NodeMaintenance, error) {
	if err := p.mayDeleteNodes(ctx); err != nil {
		return nil, err
	}
	created := p.wanted.DeepCopy()
	var options []client.CreateOption
	if p.flags.DryRun == cli.DryRunServer {
		options = append(options, client.DryRunAll)
	}
	err := p.client.Create(ctx, created, options...)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, p.taken(ctx, created.Name)
	case err != nil:
		return nil, cli.MaintenanceTrouble("create NodeMaintenance "+created.Name, err)
	default:
		return created, nil
	}
}

// taken returns the error about an existing maintenance of that name, with the remedy.
func (p *maintaining) taken(ctx context.Context, name string) error {
	there, err := cli.GetMaintenance(ctx, p.client, name)
	if err != nil {
		return err
	}
	row := rowOfMaintenance(there)
	text := fmt.Sprintf("there is a NodeMaintenance %s already", name)
	if asked := row.asked(); asked != "" {
		text += " (" + ui.Clean(asked) + ")"
	}
	return fmt.Errorf("%s, which is %s: choose another name; 'kubectl slipway maintenance status %s' shows it", text, row.State, name)
}

// print prints the maintenance that is or would be created.
func (p *maintaining) print(m *slipwayv1alpha1.NodeMaintenance) error {
	printed := m.DeepCopy()
	printed.SetGroupVersionKind(slipwayv1alpha1.GroupVersion.WithKind("NodeMaintenance"))
	printed.ManagedFields = nil
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(printed)
	if err != nil {
		return fmt.Errorf("encode NodeMaintenance %s: %w", m.Name, err)
	}
	delete(content, "status") // it has none yet
	name := cli.MaintenanceName(m.Name)
	return p.Print(p.flags.Output, cli.View{Value: content, Names: []string{name}, Text: func(ui.Style, bool) string {
		return fmt.Sprintf("%s created%s\n", ui.Clean(name), p.flags.DryRun.Suffix())
	}})
}

// most limits the names in a note.
const most = 8

// looked is the result of a look at the nodes before a maintenance is created.
type looked struct {
	notes []string
	// wrong is the reason for not creating it.
	wrong error
}

// lookAt names the nodes that a maintenance selects now, and warns of likely mistakes.
func lookAt(wanted *slipwayv1alpha1.NodeMaintenance, choice cli.Nodes, nodes []*corev1.Node, others []*slipwayv1alpha1.NodeMaintenance) looked {
	var l looked
	selected := selectedNodes(wanted.Spec.NodeSelector, nodes)
	for _, name := range choice.Named {
		if cli.NodeNamed(nodes, name) == nil {
			l.wrong = errors.Join(l.wrong, cli.NoSuchNode(name))
		}
	}
	if len(selected) == 0 && l.wrong == nil {
		l.wrong = fmt.Errorf("no node has the labels %s; the command has created no maintenance", choice.Selector)
	}
	if l.wrong != nil {
		return l
	}
	l.note("Selects %s now: %s.", ui.Count(len(selected), "node", "nodes"), cli.Few(nodeNames(selected), most))
	if len(selected) == len(nodes) {
		l.note("Warning: these are all nodes of the cluster.")
		if (wanted.Spec.Rollout == nil || len(nodes) == 1) && !slices.Contains(wanted.Spec.Allow, slipwayv1alpha1.GuardLastSchedulableNode) {
			l.note("If the guards are installed, the last schedulable node stays in service without --allow-last-schedulable-node.")
		}
	}
	if ofAll, ofSelected := countControlPlane(nodes), countControlPlane(selected); ofAll > 0 && ofAll == ofSelected {
		l.note("Warning: among them is the whole control plane, which is %s.", ui.Count(ofAll, "node", "nodes"))
		if wanted.Spec.Rollout == nil && !slices.Contains(wanted.Spec.Allow, slipwayv1alpha1.GuardAllControlPlaneNodes) {
			l.wrong = errors.New("all nodes of the control plane would be out of service at the same time: leave out --all-together to take out " +
				"one at a time, or give --allow-all-control-plane-nodes; the command has created no maintenance")
			return l
		}
	}
	l.leased(selected)
	l.overlaps(selected, others, wanted.Name)
	return l
}

// excess returns the NodeAvailabilityBudget for which the controller would not carry out a maintenance without a rollout.
func excess(wanted *slipwayv1alpha1.NodeMaintenance, nodes []*corev1.Node, budgets []slipwayv1alpha1.NodeAvailabilityBudget) string {
	if wanted.Spec.Rollout != nil {
		return ""
	}
	var all []availability.Node
	for _, n := range nodes {
		all = append(all, availability.NodeOf(n, nil))
	}
	var pointers []*availability.Budget
	for i := range budgets {
		pointers = append(pointers, &budgets[i])
	}
	return availability.Excess(pointers, all, nodeNames(selectedNodes(wanted.Spec.NodeSelector, nodes)))
}

func (l *looked) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// leased names the nodes with leases of other holders.
func (l *looked) leased(selected []*corev1.Node) {
	var named []string
	for _, node := range selected {
		if held, is := cli.LeasedByOthers(node); is {
			named = append(named, fmt.Sprintf("%s to %s", node.Name, cli.HolderText(held)))
		}
	}
	if len(named) > 0 {
		l.note("Warning: other holders have leased %d of them now; these nodes wait until the leases are released: %s.", len(named), cli.Few(named, most))
	}
}

// overlaps names the nodes that other maintenances select, too.
func (l *looked) overlaps(selected []*corev1.Node, others []*slipwayv1alpha1.NodeMaintenance, own string) {
	found := false
	for _, row := range maintenanceRows(others) {
		shared := selectedNodes(row.of.Spec.NodeSelector, selected)
		if row.over() || row.Name == own || len(shared) == 0 {
			continue
		}
		found = true
		when := string(row.State)
		if w := row.of.Spec.Window; w != nil && w.NotBefore != nil {
			when += ", window from " + cli.Stamp(w.NotBefore)
		}
		l.note("Warning: NodeMaintenance %s (%s) is for %d of them, too: %s.", ui.Clean(row.Name), when, len(shared), cli.Few(nodeNames(shared), most))
	}
	if found {
		l.note("The maintenance that drains least decides which pods leave such a node; the node returns after the last of its maintenances.")
	}
}

// controlPlane is the label of the nodes of the control plane.
const controlPlane = "node-role.kubernetes.io/control-plane"

func countControlPlane(nodes []*corev1.Node) (n int) {
	for _, node := range nodes {
		if _, is := node.Labels[controlPlane]; is {
			n++
		}
	}
	return n
}

func nodeNames(nodes []*corev1.Node) (names []string) {
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

// plan predicts the wanted maintenance. An existing one of its name is an error.
func (p *maintaining) plan(ctx context.Context) error {
	err := p.client.Get(ctx, client.ObjectKey{Name: p.wanted.Name}, &slipwayv1alpha1.NodeMaintenance{})
	switch {
	case err == nil:
		return p.taken(ctx, p.wanted.Name)
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fmt.Errorf("get NodeMaintenance %s: %w", p.wanted.Name, err)
	}
	return plan.Forecast(ctx, p.Tool, p.cluster, p.wanted, p.flags.Output)
}
