// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// attempts limits the retries of a write after conflicts. In each conflict another writer has
// succeeded.
const attempts = 5

// change computes the Lease to write, or an error. It is pure, and is called again with the
// version of another writer.
type change func(lease *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error)

// Acquire acquires the lease of the node for d, or renews it if the holder has it. If another
// holder has it, the error is a [*TakenError]. Purpose is a description for users.
//
// After any other error, such as a timeout of a request, the holder may have the lease
// nevertheless: acquire it again, or let it expire. D is from 1 s to [MaxDuration]; an
// administrator's lease does not expire, regardless of d.
func (c *Client) Acquire(ctx context.Context, node, holder, purpose string, d time.Duration) (Held, error) {
	if err := check(node, holder, d); err != nil {
		return Held{}, fmt.Errorf("acquire the lease of node %q: %w", node, err)
	}
	owner, err := c.owner(ctx, node)
	if err != nil {
		return Held{}, fmt.Errorf("acquire the lease of node %s: %w", node, err)
	}
	written, err := c.swap(ctx, node, acquisition(owner, holder, purpose, d))
	return c.outcome("acquire", node, written, err)
}

// Renew extends the lease to d from now. If the holder has lost it, the error is
// [ErrNotHolder]: the lease has expired, or another holder has it, and work on the node must
// stop. Purpose replaces the previous purpose; an empty one removes it.
func (c *Client) Renew(ctx context.Context, node, holder, purpose string, d time.Duration) (Held, error) {
	if err := check(node, holder, d); err != nil {
		return Held{}, fmt.Errorf("renew the lease of node %q: %w", node, err)
	}
	written, err := c.swap(ctx, node, renewal(holder, purpose, d))
	return c.outcome("renew", node, written, err)
}

// Release releases the lease. If the holder does not have it, the error is [ErrNotHolder], and
// the lease is unchanged. To break a lease, release it with its holder's name.
func (c *Client) Release(ctx context.Context, node, holder string) error {
	if err := check(node, holder, MaxDuration); err != nil {
		return fmt.Errorf("release the lease of node %q: %w", node, err)
	}
	_, err := c.swap(ctx, node, release(holder))
	if err != nil {
		return fmt.Errorf("release the lease of node %s: %w", node, err)
	}
	return nil
}

// acquisition is pure.
func acquisition(node *corev1.Node, holder, purpose string, d time.Duration) change {
	return func(lease *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error) {
		if held, is := Read(lease, now); is && held.Holder != holder {
			return nil, &TakenError{Node: node.Name, Held: held}
		}
		return Take(lease, node, holder, purpose, d, now), nil
	}
}

// renewal is pure. It does not renew an expired lease, even if its holder is unchanged: another
// holder may have acquired and released it.
func renewal(holder, purpose string, d time.Duration) change {
	return func(lease *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error) {
		held, is := Read(lease, now)
		switch {
		case held.Holder != holder:
			return nil, notHolder(holder, held)
		case !is:
			return nil, fmt.Errorf("%q %w: it has expired", holder, ErrNotHolder)
		default:
			return Take(lease, nil, holder, purpose, d, now), nil
		}
	}
}

// release is pure.
func release(holder string) change {
	return func(lease *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error) {
		if held, _ := Read(lease, now); held.Holder != holder {
			return nil, notHolder(holder, held)
		}
		return Give(lease, now), nil
	}
}

func notHolder(holder string, held Held) error {
	if held.Holder == "" {
		return fmt.Errorf("%q %w: the lease is free", holder, ErrNotHolder)
	}
	return fmt.Errorf("%q %w: the holder is %q", holder, ErrNotHolder, held.Holder)
}

// swap reads the Lease, changes it, and writes it if it is unchanged since. Otherwise it starts
// again.
func (c *Client) swap(ctx context.Context, node string, change change) (*coordinationv1.Lease, error) {
	var beaten error
	for range attempts {
		seen, err := c.read(ctx, node)
		if err != nil {
			return nil, err
		}
		changed, err := change(seen, c.clock.Now())
		if err != nil {
			return nil, err
		}
		written, err := c.write(ctx, changed)
		switch {
		case err == nil:
			return written, nil
		case isMissingNamespace(err):
			return nil, fmt.Errorf("there is no namespace %s: create it for the Leases of nodes: %w", Namespace, err)
		case !wasBeaten(err):
			return nil, fmt.Errorf("write Lease %s/%s: %w", Namespace, node, err)
		}
		beaten = err
	}
	return nil, fmt.Errorf("write Lease %s/%s: conflicts with other writers, %d times: %w", Namespace, node, attempts, beaten)
}

// wasBeaten reports whether another client has written, created or deleted the Lease since it
// was read.
func wasBeaten(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func isMissingNamespace(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "namespaces"
}

// outcome returns the holder's new state, from the server's answer: times there are less
// precise than here.
func (c *Client) outcome(verb, node string, written *coordinationv1.Lease, err error) (Held, error) {
	if err != nil {
		return Held{}, fmt.Errorf("%s the lease of node %s: %w", verb, node, err)
	}
	held, _ := Read(written, c.clock.Now())
	return held, nil
}
