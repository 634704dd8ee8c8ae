// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// notice is what a core Event of Slipway's tells.
type notice struct {
	event types.UID
	// key is of a blocker: its reason, and what is in the way.
	key string
}

// noticeOf is nil for a core Event of somebody else.
func noticeOf(e corev1.Event) *notice {
	parts := strings.SplitN(e.Annotations[lifecyclev1alpha1.NoticeAnnotation], " ", 3)
	if len(parts) < 3 {
		return nil
	}
	return &notice{event: types.UID(parts[0]), key: parts[2]}
}

// seenIn tells whether the LifecycleEvent itself says what the notice does. Of what held
// it up and does not any more, only the notice is left.
func (n *notice) seenIn(events []*event) bool {
	of := slices.IndexFunc(events, func(e *event) bool { return e.UID == n.event })
	if of < 0 {
		return false
	}
	return n.key == "" || slices.ContainsFunc(events[of].Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
		return n.key == b.Reason+" "+b.By
	})
}
