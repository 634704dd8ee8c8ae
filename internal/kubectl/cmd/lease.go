// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-k8s/slipway/nodelease"
)

func newLease(t *tool) *cobra.Command {
	command := &cobra.Command{
		Use:   "lease",
		Short: "Say who works on a node, and keep others off it meanwhile",
		Long: `Of several tools that reboot, drain, change or delete nodes, the one that holds the lease of a
node works on it, and the others wait. Slipway takes the lease of a node before it cordons it,
if its controller runs with --node-leases, and gives it back when the node is back.

A lease is an agreement: it cordons nothing, and holds off nobody who does not ask for it. It
is a Lease in namespace kube-node-maintenance with the name of the node. A holder that renews
it no more, because it has crashed, loses it when its time is over; an administrator's, whose
holder begins with kubeadmin, never expires.

None of these commands needs Slipway on the cluster.`,
		Example: `  kubectl slipway lease list
  kubectl slipway lease acquire worker-1 --administrator --purpose "new disk"
  kubectl slipway lease release worker-1`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, newCommand := range []func(*tool) *cobra.Command{newLeaseGet, newLeaseList, newLeaseAcquire, newLeaseRelease} {
		command.AddCommand(newCommand(t))
	}
	return command
}

// leases are the leases of a cluster, and who asks.
type leases struct {
	*nodelease.Client
	clients kubernetes.Interface
}

func (t *tool) leases() (leases, error) {
	c, err := t.reach()
	if err != nil {
		return leases{}, err
	}
	clients, err := kubernetes.NewForConfigAndClient(c.config, c.http)
	if err != nil {
		return leases{}, fmt.Errorf("build a client: %w", err)
	}
	return leases{nodelease.New(clients, t.clock), clients}, nil
}

// user is as whom the API server knows who asks.
func (l leases) user(ctx context.Context) (string, error) {
	review, err := l.clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask the API server who you are, to hold the lease in your name; --holder says it, too: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// find wants the node to be there. Where the caller may not read Nodes, names are believed.
func (l leases) find(ctx context.Context, node string) error {
	switch _, err := l.clients.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return noSuchNode(node)
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("get node %s: %w", node, err)
	default:
		return nil
	}
}

// administratorOf is the holder that never expires, for a user.
func administratorOf(user string) string { return nodelease.AdministratorPrefix + "-" + user }

// theNode reads the argument of a command for one node.
func theNode(args []string) (string, error) {
	var n nodeChoice
	if err := n.take(args); err != nil {
		return "", err
	}
	return n.named[0], nil
}

// leaseTrouble says what helps, where that is known.
func leaseTrouble(err error) error {
	taken, isTaken := errors.AsType[*nodelease.TakenError](err)
	switch {
	case err == nil:
		return nil
	case isTaken:
		return exit{Blocked, fmt.Errorf("%w; wait until it is given back, or take it away from a holder that works there no more: kubectl slipway lease release %s --force",
			taken, taken.Node)}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; Role slipway-lease-holder in namespace %s lets you, and slipway-lease-viewer lets you read", err, nodelease.Namespace)
	case apierrors.IsNotFound(err) && !errors.Is(err, nodelease.ErrNotHolder):
		return fmt.Errorf("%w ('kubectl slipway install --node-leases' does, or 'kubectl create namespace %s')", err, nodelease.Namespace)
	default:
		return err
	}
}
