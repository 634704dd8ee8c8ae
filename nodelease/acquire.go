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

// attempts is how often a write is tried that others were faster than. Each time one of them
// has succeeded, so this many have come before.
const attempts = 5

// change is what to make of a Lease: the Lease to write, or why not. It is pure, and asked
// again about what others have written.
type change func(lease *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error)

// Acquire takes the lease of the node for d, or renews it if the holder has it. If somebody
// else holds it, the error is a [*TakenError]. Purpose says for people what for.
//
// If the error is another one, as that of a request that timed out, the lease may have been
// taken all the same: acquire it again, or let it expire. D is from 1 s to [MaxDuration]; an
// administrator's lease does not expire, whatever it is.
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

// Renew holds the lease for d more from now on. If the holder has it no more, the error is
// [ErrNotHolder]: the lease has expired, or went to somebody else, and whoever works on the
// node stops. Purpose is as of now; an empty one takes away the one before.
func (c *Client) Renew(ctx context.Context, node, holder, purpose string, d time.Duration) (Held, error) {
	if err := check(node, holder, d); err != nil {
		return Held{}, fmt.Errorf("renew the lease of node %q: %w", node, err)
	}
	written, err := c.swap(ctx, node, renewal(holder, purpose, d))
	return c.outcome("renew", node, written, err)
}

// Release gives the lease back. If the holder does not hold it, the error is [ErrNotHolder],
// and the lease stays as it is. Who breaks a lease releases it with its holder's name.
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

// renewal is pure. A lease that has expired is not renewed, though nobody seems to have taken
// it: somebody may have, and have given it back.
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
		return fmt.Errorf("%q %w: nobody does", holder, ErrNotHolder)
	}
	return fmt.Errorf("%q %w: %q does", holder, ErrNotHolder, held.Holder)
}

// swap reads the Lease, changes it, and writes it if nobody has written it in between; else
// it begins anew.
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
			return nil, fmt.Errorf("there is no namespace %s: create it, the Leases of nodes are there: %w", Namespace, err)
		case !wasBeaten(err):
			return nil, fmt.Errorf("write Lease %s/%s: %w", Namespace, node, err)
		}
		beaten = err
	}
	return nil, fmt.Errorf("write Lease %s/%s: others were faster %d times: %w", Namespace, node, attempts, beaten)
}

// wasBeaten: somebody has written, created or deleted the Lease since it was read.
func wasBeaten(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func isMissingNamespace(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "namespaces"
}

// outcome is what the holder has now, by its own words on the server: times there are shorter
// than here.
func (c *Client) outcome(verb, node string, written *coordinationv1.Lease, err error) (Held, error) {
	if err != nil {
		return Held{}, fmt.Errorf("%s the lease of node %s: %w", verb, node, err)
	}
	held, _ := Read(written, c.clock.Now())
	return held, nil
}
