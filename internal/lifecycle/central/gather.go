// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// gather collects the facts of the node from the caches.
func (o *Overseer) gather(ctx context.Context, node string) (oversight.Facts, error) {
	facts, err := o.gatherNode(ctx, o.Cached, node)
	if err != nil || !slices.ContainsFunc(facts.Events, oversight.Guarded) {
		return facts, err
	}
	var nodes corev1.NodeList
	if err := o.Cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return facts, fmt.Errorf("list the nodes: %w", err)
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; n.Name != node {
			facts.Peers = append(facts.Peers, peerOf(n))
		}
	}
	facts.OnlyNode = len(facts.Peers) == 0
	if facts.PeerEvents, err = o.peerEvents(ctx, o.Cached, node, client.UnsafeDisableDeepCopy); err != nil {
		return facts, err
	}
	if facts.Fleet, err = o.fleet(ctx, o.Cached, o.Cached); err != nil {
		return facts, err
	}
	facts.Freezes, err = freezes(ctx, o.Cached)
	return facts, err
}

// gatherNode returns the facts about the node itself.
func (o *Overseer) gatherNode(ctx context.Context, from client.Reader, name string) (oversight.Facts, error) {
	facts := oversight.Facts{
		NodeName: name, Central: o.CentralDrivers, NodeLeases: o.NodeLeases, StrictGuards: o.StrictGuards, Since: o.since, FinishedEventTTL: o.FinishedEventTTL,
	}
	var err error
	if facts.Events, err = loop.Events(ctx, from, name); err != nil {
		return facts, err
	}
	facts.OfNode = facts.Events
	var holds slipwayv1alpha1.NodeHoldList
	if err := from.List(ctx, &holds, client.MatchingFields{hold.NodeField: name}); err != nil {
		return facts, fmt.Errorf("list the holds of node %s: %w", name, err)
	}
	for i := range holds.Items {
		facts.Holds = append(facts.Holds, &holds.Items[i])
	}
	var node corev1.Node
	if err := from.Get(ctx, client.ObjectKey{Name: name}, &node); client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read node %s: %w", name, err)
	} else if err == nil {
		facts.Node, facts.CordonedFor = &node, nodestate.Owners(&node)
	}
	if len(facts.Events)+len(facts.Holds) == 0 {
		return facts, nil
	}
	pods, err := o.agentPods(ctx, from, client.MatchingFields{podNodeField: name})
	if err != nil {
		return facts, err
	}
	for i := range pods {
		facts.AgentPods = append(facts.AgentPods, &pods[i])
	}
	if o.CentralDrivers {
		if facts.Alone, err = o.isAlone(ctx, pods); err != nil {
			return facts, err
		}
	}
	// An event copies its transition when it is claimed: the cache is enough.
	facts.Transitions, err = loop.Transitions(ctx, o.Cached)
	return facts, err
}

// agentPods returns the matching pods of agents.
func (o Options) agentPods(ctx context.Context, from client.Reader, which ...client.ListOption) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := from.List(ctx, &pods, append(which, client.InNamespace(o.Namespace), client.MatchingLabels(oversight.AgentLabels()))...)
	if err != nil {
		return nil, fmt.Errorf("list the agents' pods: %w", err)
	}
	return pods.Items, nil
}

// isAlone returns whether the cluster has no agents. Agents on the node are enough to know that it has.
func (o Options) isAlone(ctx context.Context, onNode []corev1.Pod) (bool, error) {
	if len(onNode) > 0 {
		return false, nil
	}
	pods, err := o.agentPods(ctx, o.Cached, client.Limit(1), client.UnsafeDisableDeepCopy)
	return len(pods) == 0, err
}

// ofAgent returns the facts about the node's agent, for the controller as the other claimer. Drivers that the Node lists count
// only while the node has a pod of an agent: the list outlives the agent.
func (o Options) ofAgent(ctx context.Context, node *corev1.Node) (*transition.Central, error) {
	pods, err := o.agentPods(ctx, o.Cached, client.MatchingFields{podNodeField: node.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	facts := &transition.Central{Agentless: len(pods) == 0}
	if !facts.Agentless {
		facts.NodeDrivers, _ = nodestate.Drivers(node)
		return facts, nil
	}
	facts.Alone, err = o.isAlone(ctx, pods)
	return facts, err
}

// peerEvents returns the events of other nodes.
func (o Options) peerEvents(ctx context.Context, from client.Reader, node string, options ...client.ListOption) ([]*lifecyclev1alpha1.LifecycleEvent, error) {
	var all lifecyclev1alpha1.LifecycleEventList
	if err := from.List(ctx, &all, options...); err != nil {
		return nil, fmt.Errorf("list the events: %w", err)
	}
	var events []*lifecyclev1alpha1.LifecycleEvent
	for i := range all.Items {
		if e := &all.Items[i]; e.Spec.BindingNode != node {
			events = append(events, e)
		}
	}
	return events, nil
}

func peerOf(node *corev1.Node) oversight.Peer {
	return oversight.PeerOf(node, len(nodestate.Owners(node)) > 0)
}

// confirm decides an irrevocable step again, on the state of the API server, and returns the
// new version of the step. Caches may be late: they may lack a new Node, or still show a
// removed gate.
func (o *Overseer) confirm(ctx context.Context, cached oversight.Facts, step oversight.Step) (oversight.Step, error) {
	facts, err := o.gatherNode(ctx, o.Live, cached.NodeName)
	if err != nil {
		return nil, err
	}
	facts.Lost = cached.Lost
	// Without the other events: with fewer peers, the reasons for their waits could differ.
	facts.Events = slices.DeleteFunc(slices.Clone(facts.Events), func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.UID != subject(step).event })
	if len(cached.Peers) > 0 {
		if facts.PeerEvents, err = o.peerEvents(ctx, o.Live, cached.NodeName); err != nil {
			return nil, err
		}
		if facts.Peers, err = o.livePeers(ctx, cached.Peers, facts); err != nil {
			return nil, err
		}
	}
	// After the events: an event that ends between the two reads has its hold by then.
	if slices.ContainsFunc(facts.Events, oversight.Guarded) {
		if facts.Fleet, err = o.fleet(ctx, o.Cached, o.Live); err != nil {
			return nil, err
		}
		if facts.Freezes, err = freezes(ctx, o.Live); err != nil {
			return nil, err
		}
	}
	if cached.OnlyNode {
		if facts.Peers, err = o.anyPeer(ctx, cached.NodeName); err != nil {
			return nil, err
		}
		facts.OnlyNode = len(facts.Peers) == 0
	}
	fresh := oversight.Next(facts, o.Clock.Now()).Step
	if subject(fresh) != subject(step) {
		return nil, fmt.Errorf("%s: %w", subject(step), record.ErrStale)
	}
	return fresh, nil
}

// livePeers reads other nodes from the API server: all nodes of the control plane, and others
// until one of them can run pods. That is enough for the guards; a list of all nodes is large.
func (o *Overseer) livePeers(ctx context.Context, cached []oversight.Peer, facts oversight.Facts) ([]oversight.Peer, error) {
	leaving := oversight.Leaving(facts)
	var peers []oversight.Peer
	found := false
	for _, p := range cached {
		candidate := !found && p.Usable() && !leaving[p.Name]
		if !candidate && !p.ControlPlane {
			continue
		}
		var node corev1.Node
		if err := o.Live.Get(ctx, client.ObjectKey{Name: p.Name}, &node); client.IgnoreNotFound(err) != nil {
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

// anyPeer returns another node, if the API server has one that the cache lacks.
func (o *Overseer) anyPeer(ctx context.Context, node string) ([]oversight.Peer, error) {
	var nodes corev1.NodeList
	if err := o.Live.List(ctx, &nodes, client.Limit(2)); err != nil {
		return nil, fmt.Errorf("list two nodes: %w", err)
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; n.Name != node {
			return []oversight.Peer{peerOf(n)}, nil
		}
	}
	return nil, nil
}

// whatFor identifies the action of a step, and its event.
type whatFor struct {
	does  string
	event types.UID
}

func (w whatFor) String() string { return fmt.Sprintf("%s event %s", w.does, w.event) }

// subject returns equal values for two irrevocable steps with the same effect, and an empty
// value for all other steps.
func subject(step oversight.Step) whatFor {
	switch s := step.(type) {
	case oversight.WriteStatus:
		if s.Ends() {
			return whatFor{"end as " + string(s.Status.ClaimStatus), s.Event.UID}
		}
	case oversight.RemoveGate:
		return whatFor{"let pass", s.Event.UID}
	case oversight.TakeHold:
		return whatFor{"take the hold of", s.Event.UID}
	case oversight.ReleaseHold:
		what := whatFor{does: "release hold " + s.Hold.Name + " for"}
		if s.Event != nil {
			what.event = s.Event.UID
		}
		return what
	}
	return whatFor{}
}
