// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
)

// Clients provide access to the API server; any kubernetes.Interface implements it.
type Clients interface {
	CoordinationV1() coordinationclient.CoordinationV1Interface
	CoreV1() coreclient.CoreV1Interface
}

// Client reads, acquires and releases leases of nodes. Several goroutines may share one.
type Client struct {
	leases coordinationclient.LeaseInterface
	nodes  coreclient.NodeInterface
	clock  clock.Clock
}

// New returns a client. The clock is the holder's, and its times are written into Leases:
// clock.RealClock{}, except in tests.
func New(clients Clients, c clock.Clock) *Client {
	return &Client{leases: clients.CoordinationV1().Leases(Namespace), nodes: clients.CoreV1().Nodes(), clock: c}
}

// Standing is the state of the lease of a node.
type Standing struct {
	// Node is the name of the node.
	Node string
	// Held is the result of [Read].
	Held Held
	// Taken reports whether a holder has the lease now. Otherwise any holder may acquire it,
	// and a holder in Held has let it expire.
	Taken bool
}

// Get reads the lease of a node. A node without a Lease is free.
func (c *Client) Get(ctx context.Context, node string) (Standing, error) {
	lease, err := c.read(ctx, node)
	if err != nil {
		return Standing{}, err
	}
	return c.standing(node, lease), nil
}

// List reads the leases of all nodes that have one, sorted by the names of the nodes.
func (c *Client) List(ctx context.Context) ([]Standing, error) {
	all, err := c.leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Leases in %s: %w", Namespace, err)
	}
	standings := make([]Standing, 0, len(all.Items))
	for i := range all.Items {
		standings = append(standings, c.standing(all.Items[i].Name, &all.Items[i]))
	}
	slices.SortFunc(standings, func(a, b Standing) int { return cmp.Compare(a.Node, b.Node) })
	return standings, nil
}

func (c *Client) standing(node string, lease *coordinationv1.Lease) Standing {
	held, is := Read(lease, c.clock.Now())
	return Standing{Node: node, Held: held, Taken: is}
}

// read returns nil if there is no Lease.
func (c *Client) read(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	lease, err := c.leases.Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // nil is a free lease, as for Read
	case err != nil:
		return nil, fmt.Errorf("read Lease %s/%s: %w", Namespace, node, err)
	default:
		return lease, nil
	}
}

// write creates the Lease, or updates it if it is unchanged since it was read.
func (c *Client) write(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if lease.ResourceVersion != "" {
		return c.leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return c.leases.Create(ctx, lease, metav1.CreateOptions{})
}

// owner returns the Node that owns the Lease.
func (c *Client) owner(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := c.nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	return node, nil
}
