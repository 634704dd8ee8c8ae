// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Registration is the state of a driver in the controller.
type Registration struct {
	// Possible: drivers can register with the controller.
	Possible bool
	// Registered and MissingSince have the meaning that they have in [transition.Driver].
	Registered   bool
	MissingSince time.Time
}

// Mark marks a transition while its driver is registered with the controller. The mark outlives the driver by [UnmarkAfter].
func Mark(t *lifecyclev1alpha1.LifecycleTransition, driver Registration, now time.Time) Decision {
	marked := t.Annotations[lifecyclev1alpha1.RegisteredCentrallyAnnotation]
	switch {
	case t.DeletionTimestamp != nil:
		return Decision{}
	case driver.Registered && marked != t.Spec.Driver:
		return do(MarkTransition{Transition: t, Driver: t.Spec.Driver})
	case driver.Registered || marked == "":
		return Decision{}
	case driver.Possible && driver.MissingSince.IsZero(): // the process has not begun to look
		return waitUntil(now.Add(UnmarkAfter))
	}
	if at := driver.MissingSince.Add(UnmarkAfter); driver.Possible && now.Before(at) {
		return waitUntil(at)
	}
	return do(MarkTransition{Transition: t})
}
