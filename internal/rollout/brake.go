// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	defaultFailureThreshold = 1
	defaultMaxPendingPods   = 10
)

// hold is why nobody begins.
type hold struct{ reason, message string }

// brake says why nobody may begin, however few are out. Empty: nothing is wrong.
func (s *state) brake() (reason, message string) {
	if most := orElse(s.rollout.FailureThreshold, defaultFailureThreshold); len(s.failed) >= most {
		return slipwayv1alpha1.ReasonFailureThreshold, fmt.Sprintf("%s failed (failureThreshold %d): %s",
			have(len(s.failed)), most, list(s.failed))
	}
	if most := orElse(s.rollout.MaxPendingPods, defaultMaxPendingPods); most > 0 && s.pendingPods >= most {
		return slipwayv1alpha1.ReasonPendingPods, fmt.Sprintf(
			"at least %d of the pods that were created since the maintenance began are Pending (maxPendingPods)", most)
	}
	return "", ""
}

// pause holds back what would return after the pause.
func (s *state) pause() (hold, bool) {
	if s.rollout.PauseAfter == nil || s.returned+s.inWork() < int(*s.rollout.PauseAfter) {
		return hold{}, false
	}
	message := fmt.Sprintf("%s returned (pauseAfter %d)", have(s.returned), *s.rollout.PauseAfter)
	if n := s.inWork(); n > 0 {
		message = fmt.Sprintf("%s to return before the pause (pauseAfter %d): %d returned, %d in work",
			nodes(int(*s.rollout.PauseAfter)), *s.rollout.PauseAfter, s.returned, n)
	}
	return hold{slipwayv1alpha1.ReasonPauseAfter, message}, true
}

func orElse(value *int32, unset int) int {
	if value == nil {
		return unset
	}
	return int(*value)
}
