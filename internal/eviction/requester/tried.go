// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"fmt"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// tried are the steps of a pass that have failed. They are not tried again in it.
type tried struct {
	steps    map[attempt]bool
	failures []error
}

// attempt tells the steps of an event apart.
type attempt struct {
	kind string
	pod  lifecyclev1alpha1.PodReference
}

func newTried() *tried { return &tried{steps: map[attempt]bool{}} }

// note remembers a step if it has failed.
func (t *tried) note(step Step, err error) {
	if err != nil {
		t.steps[attemptOf(step)] = true
		t.failures = append(t.failures, err)
	}
}

// others are the steps that have not failed.
func (t *tried) others(steps []Step) []Step {
	var others []Step
	for _, step := range steps {
		if !t.steps[attemptOf(step)] {
			others = append(others, step)
		}
	}
	return others
}

func attemptOf(step Step) attempt {
	a := attempt{kind: fmt.Sprintf("%T", step)}
	switch s := step.(type) {
	case Look:
		a.pod = s.Pod
	case Ask:
		a.pod = subject(s.Request)
	case Withdraw:
		a.pod = subject(s.Request)
	case Delete:
		a.pod = subject(s.Request)
	case Wait:
		a.pod = s.Pod
	case Refuse:
		a.pod = s.Pod
	case Confirm: // there is one
	}
	return a
}
