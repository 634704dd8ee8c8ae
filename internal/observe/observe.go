// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Who the core Events are from.
const (
	NodeAgent  = "slipway-node-agent"
	Controller = "slipway-controller"
)

// Source is what the observers of one process share.
type Source struct {
	component   string
	broadcaster record.EventBroadcaster
	finished    *prometheus.CounterVec
}

// Observer tells what happens on one node.
type Observer struct {
	recorder record.EventRecorder
	node     runtime.Object
	finished *prometheus.CounterVec
}

// New returns the source of a process. The client writes core Events; metrics are
// registered with registerer.
func New(ctx context.Context, component string, events corev1client.EventsGetter, registerer prometheus.Registerer) (*Source, error) {
	finished := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slipway_lifecycle_events_finished_total",
		Help: "LifecycleEvents that have ended, by transition, phase and reason.",
	}, []string{"transition", "phase", "reason"})
	if err := registerer.Register(finished); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: events.Events(corev1.NamespaceAll)})
	return &Source{component: component, broadcaster: broadcaster, finished: finished}, nil
}

// Node returns the observer of a node. It costs nothing to have.
func (s *Source) Node(name string) *Observer {
	return &Observer{
		recorder: s.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: s.component, Host: name}),
		// As the kubelet does it: kubectl describe node finds Events by the node's name as UID.
		node:     &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: types.UID(name)},
		finished: s.finished,
	}
}

// Close ends all observers. Events that were not written yet are lost.
func (s *Source) Close() { s.broadcaster.Shutdown() }

// Claimed tells that an event was claimed.
func (o *Observer) Claimed(event *lifecyclev1alpha1.LifecycleEvent) {
	o.recorder.Eventf(o.node, corev1.EventTypeNormal, "LifecycleEventClaimed",
		"LifecycleEvent %s: transition %s begins", event.Name, event.Spec.TransitionName)
}

// Reported tells what a driver says that others must learn of: whose budgets were
// overridden, and who asked for that. It tells again when more are.
func (o *Observer) Reported(event *lifecyclev1alpha1.LifecycleEvent, status lifecyclev1alpha1.LifecycleEventStatus) {
	const condition = lifecyclev1alpha1.ConditionBudgetsOverridden
	c := meta.FindStatusCondition(status.Conditions, condition)
	if c == nil || c.Status != metav1.ConditionTrue {
		return
	}
	if before := meta.FindStatusCondition(event.Status.Conditions, condition); before != nil &&
		before.Status == c.Status && before.Message == c.Message {
		return
	}
	who := "it does not say who asked for it"
	if event.Spec.RequestedBy != "" {
		who = fmt.Sprintf("asked for by %q", event.Spec.RequestedBy)
	}
	o.recorder.Eventf(o.node, corev1.EventTypeWarning, condition, "LifecycleEvent %s, %s: %s", event.Name, who, c.Message)
}

// Finished tells how an event ended.
func (o *Observer) Finished(event *lifecyclev1alpha1.LifecycleEvent, status lifecyclev1alpha1.LifecycleEventStatus) {
	reason, message := string(status.ClaimStatus), ""
	if c := meta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished); c != nil {
		reason, message = c.Reason, c.Message
	}
	o.finished.WithLabelValues(event.Spec.TransitionName, string(status.ClaimStatus), reason).Inc()
	eventType := corev1.EventTypeNormal
	if status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		eventType = corev1.EventTypeWarning
	}
	text := fmt.Sprintf("LifecycleEvent %s: transition %s ended as %s", event.Name, event.Spec.TransitionName, reason)
	if message != "" {
		text += ": " + message
	}
	o.recorder.Event(o.node, eventType, "LifecycleEvent"+string(status.ClaimStatus), text)
}
