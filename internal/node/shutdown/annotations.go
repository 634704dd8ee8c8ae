// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
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
