// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	// Annotation announces on a Node the shutdown of its machine. slipway-host writes it. On a LifecycleEvent, it
	// identifies the shutdown.
	Annotation = "slipway.dev/shutdown"
	// DrainAnnotation records on a Node the outcome of the drain for a shutdown. The controller writes it.
	DrainAnnotation = "slipway.dev/shutdown-drain"
	// DelayAnnotation records on a Node the maximum delay of a shutdown by logind, such as "5m0s". slipway-host writes it,
	// for administrators only.
	DelayAnnotation = "slipway.dev/shutdown-delay"
	// Label exists together with the announcement. Admission finds the nodes by it that get no new pods
	// (config/admission/host).
	Label = "slipway.dev/going-down"
)

// ShortDelay is the minimum delay of logind that helps. In less time, hardly a pod with the default grace period of
// 30 s is replaced and ends. The default of logind is 5 s.
const ShortDelay = time.Minute

// Announcement is the value of [Annotation].
type Announcement struct {
	// BootID of the boot that ends (status.nodeInfo.bootID).
	BootID string `json:"bootID"`
	// Since is the time at which slipway-host saw the shutdown; Until is the end of logind's delay. Both come from the
	// machine's clock, and are comparable with no other clock: see [Announcement.Length].
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// ID identifies the shutdown.
func (a Announcement) ID() string { return a.BootID + "/" + a.Since.UTC().Format(time.RFC3339Nano) }

// Length returns the maximum time for the drain: logind's delay, and at most [MaxDrain]. A machine with a wrong clock,
// such as after its resumption, gets the same time. A drain that starts late ends with the machine, before its
// deadline.
func (a Announcement) Length() time.Duration {
	return min(max(a.Until.Sub(a.Since).Round(time.Second), time.Second), MaxDrain)
}

// Text returns the value of the annotation.
func (a Announcement) Text() (string, error) { return textOf(Annotation, a) }

// Drain is the value of [DrainAnnotation].
type Drain struct {
	// Shutdown is the [Announcement.ID].
	Shutdown string `json:"shutdown"`
	// Event is the name of the LifecycleEvent. UID is empty if the event was not created for the shutdown.
	Event string    `json:"event"`
	UID   types.UID `json:"uid,omitempty"`
	// Outcome is the final phase of the event. Succeeded means that all pods have left.
	Outcome lifecyclev1alpha1.ClaimStatus `json:"outcome"`
}

// Text returns the value of the annotation.
func (d Drain) Text() (string, error) { return textOf(DrainAnnotation, d) }

func textOf(annotation string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", annotation, err)
	}
	return string(text), nil
}

// AnnouncedOn reads the announcement from a Node; nil without a readable one.
func AnnouncedOn(node *corev1.Node) *Announcement {
	var a Announcement
	if !read(node, Annotation, &a) || a.BootID == "" || a.Since.IsZero() {
		return nil
	}
	return &a
}

// TimeOn returns the beginning of the announced shutdown in the Node's current boot, and the maximum time for the drain from
// then; zero without such an announcement. Both are comparable with the machine's clock only.
func TimeOn(node *corev1.Node) (since time.Time, length time.Duration) {
	if said := AnnouncedOn(node); isCurrent(node, said) {
		return said.Since, said.Length()
	}
	return time.Time{}, 0
}

// DrainedOn reads the outcome of the drain for a shutdown from a Node; nil without a readable one.
func DrainedOn(node *corev1.Node) *Drain {
	var d Drain
	if !read(node, DrainAnnotation, &d) || d.Shutdown == "" {
		return nil
	}
	return &d
}

func read(node *corev1.Node, annotation string, into any) bool {
	return node != nil && json.Unmarshal([]byte(node.Annotations[annotation]), into) == nil
}

// DelayOn reads the delay of logind from a Node; known is false without a readable one.
func DelayOn(node *corev1.Node) (delay time.Duration, known bool) {
	delay, err := time.ParseDuration(node.Annotations[DelayAnnotation])
	return delay, err == nil
}

// Reasons of the Node's condition GracefulNodeShutdownInProgress.
const (
	// ReasonNodeShutdown: the condition is True, a shutdown has begun.
	ReasonNodeShutdown = "NodeShutdown"
	// ReasonCanceled: the shutdown was canceled.
	ReasonCanceled = "ShutdownCanceled"
	// ReasonFinished: the machine has booted again, and was drained before its shutdown.
	ReasonFinished = "ShutdownFinished"
	// ReasonUnfinished: the machine has booted again, and was not drained before its shutdown.
	ReasonUnfinished = "ShutdownUnfinished"
)

const (
	// Transition is the drain before the shutdown of a machine.
	Transition = "drain.slm.k8s.io-shutdown"
	// StateDraining is its first state (KEP-5683).
	StateDraining = "Draining"
	// StateShuttingDown is its last state: all pods have left.
	StateShuttingDown = "ShuttingDown"
	// Finalizer keeps an event until the Node records its outcome.
	Finalizer = "slipway.dev/shutdown"
	// MaxDrain limits the drain for a shutdown. The machine determines the announced time, and no guard limits the event.
	MaxDrain = time.Hour
	// maxNode limits the node's name in the name of an event.
	maxNode = 200
)

// nameOf returns the name of the event for a shutdown of the node.
func nameOf(node, shutdown string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(node + "/" + shutdown)) // never fails
	return fmt.Sprintf("shutdown-%s-%08x", node[:min(len(node), maxNode)], hash.Sum32())
}

// parameters of the drain: DaemonSet pods leave as well, because they go down with the machine. They leave after all other
// pods, and the driver shares out the time ([TimeOn]). Static pods are no targets: slipway-host would have to move their
// manifests, and after the boot, the kubelet may need one of these pods before it can start slipway-host again. Otherwise the
// settings of the driver and DrainRules apply.
const parameters = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","targets":[{"podType":"Default"},{"podType":"DaemonSet"}]}`

// newEvent returns the event of the drain, with logind's delay as the deadline. It allows the drain against guards, which
// cannot stop the machine. All processes return the same event for a shutdown.
func newEvent(node string, said Announcement) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name:        nameOf(node, said.ID()),
			Annotations: map[string]string{Annotation: said.ID()},
			Finalizers:  []string{Finalizer},
		},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{
			TransitionName: Transition, BindingNode: node,
			SLA:        &metav1.Duration{Duration: said.Length()},
			Allow:      []lifecyclev1alpha1.Guard{lifecyclev1alpha1.GuardLastSchedulableNode, lifecyclev1alpha1.GuardSecondControlPlaneNode},
			Parameters: &runtime.RawExtension{Raw: []byte(parameters)},
			Reason:     ReasonNodeShutdown,
		},
	}
}

// Is reports whether an event drains the node of a machine that shuts down. Only the controller creates such events
// (admission/event-records.yaml).
func Is(e *lifecyclev1alpha1.LifecycleEvent) bool {
	_, is := e.Annotations[Annotation]
	return is
}

// HoldsEmpty reports whether the event keeps its node free of all pods except those of DaemonSets and static ones. Only a drain
// of Slipway does: the machine stops without another one.
func HoldsEmpty(e *lifecyclev1alpha1.LifecycleEvent) bool {
	var parameters slipwayv1alpha1.DrainParameters
	if e.Spec.TransitionName != lifecyclev1alpha1.DrainTransition || e.Status.ClaimStatus != lifecyclev1alpha1.Claimed || e.DeletionTimestamp != nil || e.Spec.Parameters == nil ||
		e.Status.ObservedGeneration != e.Generation || json.Unmarshal(e.Spec.Parameters.Raw, &parameters) != nil {
		return false
	}
	return parameters.Hold && apimeta.IsStatusConditionTrue(e.Status.Conditions, lifecyclev1alpha1.ConditionTargetsReached) &&
		(len(parameters.Targets) == 0 || slices.ContainsFunc(parameters.Targets, coversAll))
}

func coversAll(t slipwayv1alpha1.DrainTarget) bool {
	anyPriority := t.PodPriority == nil || *t.PodPriority == math.MaxInt32
	return t.PodType == slipwayv1alpha1.PodTypeDefault && anyPriority &&
		(t.PodSelector == nil || len(t.PodSelector.MatchLabels)+len(t.PodSelector.MatchExpressions) == 0)
}
