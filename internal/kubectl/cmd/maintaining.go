// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maintaining asks for a maintenance.
type maintaining struct {
	*tool
	cluster cluster
	client  client.WithWatch
	flags   *maintainFlags
	wanted  *slipwayv1alpha1.NodeMaintenance
}

// look says which nodes are selected now, and warns of what may not be meant.
func (p *maintaining) look(ctx context.Context) error {
	var nodes corev1.NodeList
	err := p.client.List(ctx, &nodes)
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintln(p.ErrOut, "You may not list Nodes, so it is not known which are selected.")
		return nil
	case err != nil:
		return fmt.Errorf("list Nodes: %w", err)
	}
	others, err := listMaintenances(ctx, p.client)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	found := lookAt(p.wanted, p.flags.nodes, pointers(nodes.Items), others)
	for _, note := range found.notes {
		fmt.Fprintln(p.ErrOut, note)
	}
	if found.wrong != nil && *p.flags.dry == dryRunClient {
		fmt.Fprintln(p.ErrOut, "Warning:", found.wrong)
		return nil
	}
	return found.wrong
}

// mayDeleteNodes is an error where the caller may not: the server asks this of whoever takes
// nodes out of service (KEP-4212). What cannot be found out is left to the server.
func (p *maintaining) mayDeleteNodes(ctx context.Context) error {
	clients, err := kubernetes.NewForConfigAndClient(p.cluster.config, p.cluster.http)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}},
	}, metav1.CreateOptions{})
	if err == nil && !review.Status.Allowed {
		return errNoRight
	}
	return nil
}

// errNoRight is what somebody is told who may not maintain nodes.
var errNoRight = errors.New("you may not delete nodes, and whoever has a NodeMaintenance take nodes out of service needs that right: " +
	"ask an administrator for a ClusterRole with the verb delete on nodes, and the verbs get, list, watch, create, update and patch on " +
	"nodemaintenances.slipway.dev. Nothing was created")

// create creates it. One of that name that is there already is never taken for it.
func (p *maintaining) create(ctx context.Context) (*slipwayv1alpha1.NodeMaintenance, error) {
	created := p.wanted.DeepCopy()
	var options []client.CreateOption
	if *p.flags.dry == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	err := p.client.Create(ctx, created, options...)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, p.taken(ctx, created.Name)
	case err != nil:
		return nil, maintenanceTrouble("create NodeMaintenance "+created.Name, err)
	default:
		return created, nil
	}
}

// taken says what is there of that name, and what can be done.
func (p *maintaining) taken(ctx context.Context, name string) error {
	there, err := getMaintenance(ctx, p.client, name)
	if err != nil {
		return err
	}
	row := rowOfMaintenance(there)
	text := fmt.Sprintf("there is a NodeMaintenance %s already", name)
	if asked := row.asked(); asked != "" {
		text += " (" + ui.Clean(asked) + ")"
	}
	if row.over() {
		return fmt.Errorf("%s, which has %s: choose another name, or delete it with 'kubectl delete nodemaintenance %s'", text, pastOf(row.State), name)
	}
	return fmt.Errorf("%s, which is %s: choose another name; 'kubectl slipway maintenance status %s' shows it", text, row.State, name)
}

func pastOf(state string) string {
	if state == maintenanceCompleted {
		return "completed"
	}
	return "ended"
}

// print prints what is or would be created.
func (p *maintaining) print(m *slipwayv1alpha1.NodeMaintenance, done string) error {
	f := p.flags.output.format
	if f == people {
		p.say(maintenanceName(m.Name) + " " + done + p.flags.dry.suffix() + "\n")
		return nil
	}
	if f == names {
		p.say(maintenanceName(m.Name) + "\n")
		return nil
	}
	printed := m.DeepCopy()
	printed.SetGroupVersionKind(slipwayv1alpha1.GroupVersion.WithKind("NodeMaintenance"))
	printed.ManagedFields = nil
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(printed)
	if err != nil {
		return fmt.Errorf("encode NodeMaintenance %s: %w", m.Name, err)
	}
	delete(content, "status") // it has none yet
	return encode(p.Out, f, content)
}
