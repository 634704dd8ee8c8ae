// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Decision is one step; or, where there is none, what each turn waits for and when to ask
// again if nothing changes before.
type Decision struct {
	// Step is nil when there is nothing to do now.
	Step Step
	// Wake is zero when only a change of the facts can give a step.
	Wake time.Time
	// Waiting says by the UID of the pod what its turn waits for.
	Waiting map[types.UID]string
}

// Step is one thing to do about one pod. Each may be done twice.
type Step interface{ isStep() }

type (
	// Release takes a pod away from its ReplicaSet, with our marks. Unready is how many of
	// its other pods are not waited for.
	Release struct {
		Pod     *corev1.Pod
		Unready int
	}
	// GiveBack lets the ReplicaSet select the pod again. The marks stay. If there is a
	// turn, it has given up, for the reason Why.
	GiveBack struct {
		Pod *corev1.Pod
		Why string
	}
	// Forget takes our marks from a pod that its ReplicaSet has again.
	Forget struct{ Pod *corev1.Pod }
	// Complete ends our turn.
	Complete struct {
		Pod     *corev1.Pod
		Message string
	}
)

func (Release) isStep()  {}
func (GiveBack) isStep() {}
func (Forget) isStep()   {}
func (Complete) isStep() {}

// wait notes what a turn waits for, until when.
func (d *Decision) wait(pod *corev1.Pod, message string, until time.Time) {
	if d.Waiting == nil {
		d.Waiting = map[types.UID]string{}
	}
	d.Waiting[pod.UID] = message
	d.wakeAt(until)
}

func (d *Decision) wakeAt(at time.Time) {
	if d.Wake.IsZero() || !at.IsZero() && at.Before(d.Wake) {
		d.Wake = at
	}
}
