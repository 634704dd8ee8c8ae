// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// answerOf converts a response of a driver.
func answerOf(response *driverv1.LifecycleTransitionResponse, generation int64) *transition.Answer {
	answer := &transition.Answer{
		Generation:      generation,
		State:           response.GetLifecycleCondition(),
		NodeName:        response.GetNodeName(),
		Error:           response.GetError(),
		Message:         response.GetMessage(),
		Blockers:        blockers(response.GetBlockers()),
		BlockersTotal:   response.GetBlockersTotal(),
		NodeConditions:  conditions(response.GetNodeConditions()),
		EventConditions: conditions(response.GetEventConditions()),
		Waits:           response.GetWaits(),
	}
	if p := response.GetProgress(); p != nil {
		answer.Progress = &lifecyclev1alpha1.Progress{Total: p.GetTotal(), Done: p.GetDone()}
	}
	if left := response.GetLeftToResponders(); left != nil {
		answer.LeftToResponders = pods(left.GetPods())
	}
	return answer
}

// pods never returns nil, because nil means that the list is unchanged.
func pods(sent []*driverv1.PodReference) []lifecyclev1alpha1.PodReference {
	got := []lifecyclev1alpha1.PodReference{}
	for _, p := range sent {
		got = append(got, lifecyclev1alpha1.PodReference{Namespace: p.GetNamespace(), Name: p.GetName(), UID: types.UID(p.GetUid())})
	}
	return got
}

// latest is the last valid second of a time in a status: the server rejects a status with a
// time after the year 9999.
const latest = 253402300799

func blockers(sent []*driverv1.Blocker) []lifecyclev1alpha1.Blocker {
	var got []lifecyclev1alpha1.Blocker
	for _, b := range sent {
		blocker := lifecyclev1alpha1.Blocker{
			Object: b.GetObject(), Reason: b.GetReason(), By: b.GetBy(), Message: b.GetMessage(),
		}
		if seconds := b.GetSinceSeconds(); seconds > 0 && seconds <= latest {
			blocker.Since = &metav1.Time{Time: time.Unix(seconds, 0)}
		}
		got = append(got, blocker)
	}
	return got
}

func conditions(sent []*driverv1.Condition) []transition.Condition {
	var got []transition.Condition
	for _, c := range sent {
		got = append(got, transition.Condition{
			Type: c.GetType(), Status: c.GetStatus(), Reason: c.GetReason(), Message: c.GetMessage(),
		})
	}
	return got
}
