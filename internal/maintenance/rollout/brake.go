// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	defaultFailureThreshold = 1
	defaultMaxPendingPods   = 10
)

// brake says why nobody may begin, however few are out.
func (s *state) brake() (hold, bool) {
	if s.tooManyFailed() {
		return hold{slipwayv1alpha1.ReasonFailureThreshold, fmt.Sprintf("%s failed (failureThreshold %d): %s",
			have(len(s.failed)), s.failureThreshold(), list(s.failed))}, true
	}
	// How many there are changes all the time, and would change the message each time. Who
	// has been waiting for longest stays the same.
	if most := orElse(s.rollout.MaxPendingPods, defaultMaxPendingPods); most > 0 && s.pendingPods >= most {
		return hold{slipwayv1alpha1.ReasonPendingPods, fmt.Sprintf(
			"of the pods that were created since the maintenance began, %d or more are Pending or not Ready (maxPendingPods %d)%s", most, most, s.suchAs())}, true
	}
	return hold{}, false
}

// suchAs names a few of the pods, if any name is known.
func (s *state) suchAs() string {
	if len(s.pendingNames) == 0 {
		return ""
	}
	return ", such as " + strings.Join(s.pendingNames, ", ")
}

func (s *state) tooManyFailed() bool { return len(s.failed) >= s.failureThreshold() }

func (s *state) failureThreshold() int {
	return orElse(s.rollout.FailureThreshold, defaultFailureThreshold)
}

// pause holds back who would return after the pause: those that are at work count as if they
// had returned, so that a pause after one node is a pause with one node done.
func (s *state) pause() (hold, bool) {
	working := len(s.atWork())
	if s.rollout.PauseAfter == nil || s.returned+working < int(*s.rollout.PauseAfter) {
		return hold{}, false
	}
	message := fmt.Sprintf("%s returned (pauseAfter %d)", have(s.returned), *s.rollout.PauseAfter)
	if working > 0 {
		message += fmt.Sprintf(", and %s at work", are(working))
	}
	return hold{slipwayv1alpha1.ReasonPauseAfter, message}, true
}

func orElse(value *int32, unset int) int {
	if value == nil {
		return unset
	}
	return int(*value)
}
