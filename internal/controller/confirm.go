// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
)

// confirm decides a step again that cannot be taken back, on what the API server has
// now, and returns it as it is by that. Caches may be late: a Node that has just
// registered may not show, nor a gate that was removed a moment ago.
func (o *overseer) confirm(ctx context.Context, cached oversight.Facts, step oversight.Step) (oversight.Step, error) {
	facts, err := o.gatherNode(ctx, o.live, cached.NodeName)
	if err != nil {
		return nil, err
	}
	facts.Lost = cached.Lost
	// Of this event alone: what holds another up may be said differently of fewer peers.
	facts.Events = slices.DeleteFunc(facts.Events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.UID != subject(step).event })
	if len(cached.Peers) > 0 {
		if facts.PeerEvents, err = o.peerEvents(ctx, o.live, cached.NodeName); err != nil {
			return nil, err
		}
		if facts.Peers, err = o.livePeers(ctx, cached.Peers, facts); err != nil {
			return nil, err
		}
	}
	fresh := oversight.Next(facts, o.clock.Now()).Step
	if subject(fresh) != subject(step) {
		return nil, fmt.Errorf("%s: %w", subject(step), record.ErrStale)
	}
	return fresh, nil
}

// livePeers are the other nodes as they are now: all of the control plane, and others
// until there is one that pods can go to. No more is needed to let an event pass, and
// a list of all nodes is large.
func (o *overseer) livePeers(ctx context.Context, cached []oversight.Peer, facts oversight.Facts) ([]oversight.Peer, error) {
	leaving := oversight.Leaving(facts)
	var peers []oversight.Peer
	found := false
	for _, p := range cached {
		candidate := !found && p.Usable() && !leaving[p.Name]
		if !candidate && !p.ControlPlane {
			continue
		}
		var node corev1.Node
		if err := o.live.Get(ctx, client.ObjectKey{Name: p.Name}, &node); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read node %s: %w", p.Name, err)
		} else if err != nil {
			continue
		}
		now := peerOf(&node)
		peers = append(peers, now)
		found = found || now.Usable() && !leaving[p.Name]
	}
	return peers, nil
}

// whatFor says what a step does, and to which event.
type whatFor struct {
	does  string
	event types.UID
}

func (w whatFor) String() string { return fmt.Sprintf("%s event %s", w.does, w.event) }

// subject is the same for two steps that do the same.
func subject(step oversight.Step) whatFor {
	switch s := step.(type) {
	case oversight.WriteStatus:
		if !s.Ends() {
			return whatFor{"note on", s.Event.UID}
		}
		return whatFor{"end as " + string(s.Status.ClaimStatus), s.Event.UID}
	case oversight.RemoveGate:
		return whatFor{"let pass", s.Event.UID}
	default:
		return whatFor{does: fmt.Sprintf("%T", step)}
	}
}
