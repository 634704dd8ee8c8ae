// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// The transitions of the drain driver.
const (
	Drain    = "drain.slm.k8s.io"
	Uncordon = "drain.slm.k8s.io-uncordon"
)

const (
	// sla is longer than any drain takes.
	sla = time.Hour
	// sideBySide is the number of objects that are created at a time.
	sideBySide = 16
	// sayPeriod is the period in which a wait reports its progress.
	sayPeriod = 2 * time.Second
)

// Follow watches the objects of a list's kind, calls start, and shows each state since then to
// seen, until seen returns true. A deleted object is shown in its last state.
func Follow[T client.Object](
	ctx context.Context, c client.WithWatch, list client.ObjectList, start func() error, seen func(o T, deleted bool) (bool, error), o ...client.ListOption,
) error {
	w, err := c.Watch(ctx, list, o...)
	if err != nil {
		return fmt.Errorf("watch %T: %w", list, err)
	}
	defer w.Stop()
	if err := start(); err != nil {
		return err
	}
	var last T
	for event := range w.ResultChan() {
		object, ok := event.Object.(T)
		if !ok {
			return fmt.Errorf("watch %T: %+v", list, event.Object)
		}
		if done, err := seen(object, event.Type == watch.Deleted); done || err != nil {
			return err
		}
		last = object
	}
	text, err := json.Marshal(last)
	return fmt.Errorf("the watch of %T ended, last seen: %s: %w", list, text, errors.Join(err, context.Cause(ctx)))
}

// Times of a transition.
type Times struct {
	// Began is the creation of the LifecycleEvents, Ended the success of the last one, and Over its deletion.
	Began, Ended, Over time.Time
	// AtOnce is the greatest number of them that were seen in work at a time.
	AtOnce int
}

// Transition requests a transition of the nodes, all at once, and returns when all of their
// LifecycleEvents have succeeded and are deleted. A cancelAfter that is not 0 deletes the events
// after that time: for a drain that cannot end.
func (c *Cluster) Transition(ctx context.Context, transition string, nodes []string, cancelAfter time.Duration) (Times, error) {
	t := &transitions{cluster: c, want: len(nodes), canceled: cancelAfter > 0, claimed: map[string]bool{}, succeeded: map[string]bool{}}
	t.Began, t.said = time.Now(), time.Now()
	canceling := make(chan error, 1)
	err := Follow(ctx, c.Objects, &lifecyclev1alpha1.LifecycleEventList{}, func() error {
		if t.canceled {
			timer := time.AfterFunc(cancelAfter, func() { canceling <- c.cancel(ctx, nodes) })
			context.AfterFunc(ctx, func() { timer.Stop() })
		}
		return c.request(ctx, transition, nodes)
	}, t.saw)
	if t.canceled && err == nil {
		err = <-canceling
		t.Ended = t.Began.Add(cancelAfter)
		t.Over = t.Ended
	}
	if err != nil {
		return t.Times, fmt.Errorf("%s of %d nodes: %w", transition, len(nodes), err)
	}
	return t.Times, nil
}

// transitions are the LifecycleEvents that Transition follows.
type transitions struct {
	Times
	cluster            *Cluster
	want, gone         int
	canceled           bool
	claimed, succeeded map[string]bool
	said               time.Time
}

func (t *transitions) saw(e *lifecyclev1alpha1.LifecycleEvent, deleted bool) (bool, error) {
	delete(t.claimed, e.Name)
	switch phase := e.Status.ClaimStatus; {
	case phase == lifecyclev1alpha1.Claimed && !deleted:
		t.claimed[e.Name] = true
		t.AtOnce = max(t.AtOnce, len(t.claimed))
	case phase == lifecyclev1alpha1.Succeeded && !t.succeeded[e.Name]:
		t.succeeded[e.Name] = true
		t.Ended = time.Now()
	case phase.Terminal() && phase != lifecyclev1alpha1.Succeeded && !t.canceled:
		return false, fmt.Errorf("%s ended as %s: %+v", e.Name, phase, e.Status.Conditions)
	}
	if deleted {
		t.gone++
		t.Over = time.Now()
	}
	if time.Since(t.said) > sayPeriod {
		t.cluster.Printf("%d of %d nodes have finished, %d are in work", t.gone, t.want, len(t.claimed))
		t.said = time.Now()
	}
	return t.gone == t.want, nil
}

// EventOf returns the LifecycleEvent of a node.
func EventOf(transition, node string) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-" + node},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node, SLA: &metav1.Duration{Duration: sla}},
	}
}

func (c *Cluster) request(ctx context.Context, transition string, nodes []string) error {
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(sideBySide)
	for _, node := range nodes {
		requests.Go(func() error { return c.Objects.Create(ctx, EventOf(transition, node)) })
	}
	return requests.Wait()
}

func (c *Cluster) cancel(ctx context.Context, nodes []string) error {
	var errs []error
	for _, node := range nodes {
		errs = append(errs, c.Objects.Delete(ctx, EventOf(Drain, node)))
	}
	return errors.Join(errs...)
}

// Maintain drains and returns nodes by a NodeMaintenance, and returns when it has completed.
func (c *Cluster) Maintain(ctx context.Context, name string, nodes []string, rollout *slipwayv1alpha1.MaintenanceRollout) error {
	requested := MaintenanceOf(name, nodes, rollout)
	err := Follow(ctx, c.Objects, &slipwayv1alpha1.NodeMaintenanceList{}, func() error { return c.Objects.Create(ctx, requested) },
		func(m *slipwayv1alpha1.NodeMaintenance, _ bool) (bool, error) { return MaintenanceCompleted(m) },
		client.MatchingFields{"metadata.name": name})
	if err != nil {
		return fmt.Errorf("maintain %d nodes: %w", len(nodes), err)
	}
	return c.Objects.Delete(ctx, requested)
}

// MaintenanceOf returns a NodeMaintenance that drains and returns nodes, without work on them.
func MaintenanceOf(name string, nodes []string, rollout *slipwayv1alpha1.MaintenanceRollout) *slipwayv1alpha1.NodeMaintenance {
	return &slipwayv1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: slipwayv1alpha1.NodeMaintenanceSpec{
			NodeSelector: *onNodes(nodes), Stage: slipwayv1alpha1.StageDrain, Rollout: rollout,
			Work: &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone},
		},
	}
}

func onNodes(nodes []string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes}},
	}}}
}

// MaintenanceCompleted reports whether all nodes have returned. A node that has failed is an error.
func MaintenanceCompleted(m *slipwayv1alpha1.NodeMaintenance) (bool, error) {
	if m.Status.Nodes.Failed > 0 {
		return false, fmt.Errorf("maintenance %s: %d nodes have failed: %s", m.Name, m.Status.Nodes.Failed, m.Status.Message)
	}
	return apimeta.IsStatusConditionTrue(m.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted), nil
}

// EvictionRequestOf returns a request for the eviction of a pod.
func EvictionRequestOf(pod *corev1.Pod, name, requester string) *evictionv1alpha1.EvictionRequest {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = requester, evictionv1alpha1.EvictionRequestIntentEviction
	return r
}
