// SPDX-License-Identifier: Apache-2.0

package transition

import (
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// writeIfChanged is a step that writes what change makes of the event's status, or
// nothing where it makes no difference.
func writeIfChanged(e *lifecyclev1alpha1.LifecycleEvent, purpose Purpose, change func(*lifecyclev1alpha1.LifecycleEventStatus)) Decision {
	status, changed := lifecycleevent.Changed(e, change)
	if !changed {
		return Decision{}
	}
	return do(WriteStatus{Purpose: purpose, Event: e, Status: status})
}

// shortened is a message of at most lifecycleevent.MaxMessage bytes.
func shortened(message string) string { return reasons.Shorten(message, lifecycleevent.MaxMessage) }
