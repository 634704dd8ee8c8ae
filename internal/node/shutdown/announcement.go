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
	// Annotation says on a Node that its machine is being shut down. It is written on the
	// machine. On a LifecycleEvent, it says for which shutdown that is.
	Annotation = "slipway.dev/shutdown"
	// DrainAnnotation says on a Node what became of the drain for a shutdown. It is written
	// by the controller.
	DrainAnnotation = "slipway.dev/shutdown-drain"
	// Label is on a Node as long as the announcement. By it, admission finds the nodes that get
	// no new pods (config/admission/host).
	Label = "slipway.dev/going-down"
)

// Announcement is the value of [Annotation].
type Announcement struct {
	// BootID is that of the boot that ends (status.nodeInfo.bootID).
	BootID string `json:"bootID"`
	// Since is when the shutdown was seen first; Until is when logind waits no longer. Both are
	// of the machine's clock, which is to be compared with no other: see [Announcement.Length].
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// ID tells the shutdown from all others.
func (a Announcement) ID() string { return a.BootID + "/" + a.Since.UTC().Format(time.RFC3339Nano) }

// Length is how long the drain may take: as long as logind waits, and [MaxDrain] at most. A machine
// whose clock is wrong, as after it was resumed, is given as much as others. Where the drain is
// asked for late, it ends with the machine, before its deadline.
func (a Announcement) Length() time.Duration {
	return min(max(a.Until.Sub(a.Since).Round(time.Second), time.Second), MaxDrain)
}

// Text is the value of the annotation.
func (a Announcement) Text() (string, error) { return textOf(Annotation, a) }

// Drain is the value of [DrainAnnotation].
type Drain struct {
	// Shutdown is the [Announcement.ID] of what it was for.
	Shutdown string `json:"shutdown"`
	// Event is the name of the LifecycleEvent. UID is empty where it was not created for
	// the shutdown.
	Event string    `json:"event"`
	UID   types.UID `json:"uid,omitempty"`
	// Outcome is how it ended. Succeeded: nothing is left to move.
	Outcome lifecyclev1alpha1.ClaimStatus `json:"outcome"`
}

// Text is the value of the annotation.
func (d Drain) Text() (string, error) { return textOf(DrainAnnotation, d) }

func textOf(annotation string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", annotation, err)
	}
	return string(text), nil
}

// AnnouncedOn is what a Node says of a shutdown; nil, if it says nothing. What cannot be read
// was not written by us: it says nothing.
func AnnouncedOn(node *corev1.Node) *Announcement {
	var a Announcement
	if !read(node, Annotation, &a) || a.BootID == "" || a.Since.IsZero() {
		return nil
	}
	return &a
}

// DrainedOn is what a Node says of the drain for a shutdown; nil, if it says nothing.
func DrainedOn(node *corev1.Node) *Drain {
	var d Drain
	if !read(node, DrainAnnotation, &d) || d.Shutdown == "" {
		return nil
	}
	return &d
}

func read(node *corev1.Node, annotation string, into any) bool {
	if node == nil || node.Annotations[annotation] == "" {
		return false
	}
	return json.Unmarshal([]byte(node.Annotations[annotation]), into) == nil
}
