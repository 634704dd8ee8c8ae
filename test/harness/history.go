// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// History is the record of a watch, in order: the phases of events, as "NAME PHASE" and "NAME gone", and the reasons
// of the Node's LifecycleTransition condition, as "node REASON".
type History struct {
	t     *testing.T
	seen  Observed
	lines []string
}

// Record starts to watch the Node and its events.
func (n *Node) Record() *History {
	n.t.Helper()
	h := &History{t: n.t}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	n.t.Cleanup(func() { cancel(); watching.Wait() })

	events, err := n.env.Client.Watch(ctx, &lifecyclev1alpha1.LifecycleEventList{}, client.MatchingFields{"spec.bindingNode": n.Name})
	if err != nil {
		n.t.Fatal(err)
	}
	node, err := n.env.Client.Watch(ctx, &corev1.NodeList{}, Named(n.Name))
	if err != nil {
		n.t.Fatal(err)
	}
	watching.Go(func() {
		for event := range events.ResultChan() {
			h.sawEvent(event)
		}
	})
	watching.Go(func() {
		for event := range node.ResultChan() {
			h.sawNode(event)
		}
	})
	context.AfterFunc(ctx, func() { events.Stop(); node.Stop() })
	return h
}

func (h *History) sawEvent(event watch.Event) {
	e, ok := event.Object.(*lifecyclev1alpha1.LifecycleEvent)
	switch {
	case !ok:
	case event.Type == watch.Deleted:
		h.add(e.Name, "gone")
	default:
		h.add(e.Name, string(e.Status.ClaimStatus))
	}
}

func (h *History) sawNode(event watch.Event) {
	node, ok := event.Object.(*corev1.Node)
	if !ok {
		return
	}
	for _, c := range node.Status.Conditions {
		if c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition {
			h.add("node", c.Reason)
		}
	}
}

// add appends a state of an object, unless it is the object's last one.
func (h *History) add(object, state string) {
	line := object + " " + state
	h.seen.Change(func() {
		for _, seen := range slices.Backward(h.lines) {
			if strings.HasPrefix(seen, object+" ") {
				if seen == line {
					return
				}
				break
			}
		}
		h.lines = append(h.lines, line)
	})
}

// Lines returns the record so far.
func (h *History) Lines() (lines []string) {
	h.seen.Look(func() { lines = slices.Clone(h.lines) })
	return lines
}

// States returns the states of one object so far.
func (h *History) States(object string) []string {
	var states []string
	for _, line := range h.Lines() {
		if state, found := strings.CutPrefix(line, object+" "); found {
			states = append(states, state)
		}
	}
	return states
}

// Await waits until the line was seen.
func (h *History) Await(line string) {
	h.t.Helper()
	if !h.seen.Await(nil, func() bool { return slices.Contains(h.lines, line) }) {
		h.t.Fatalf("%q was not seen; seen was %q", line, h.Lines())
	}
}
