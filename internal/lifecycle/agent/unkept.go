// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// unkept notices that the API server does not keep which pods are left to responders, as
// its CRD is older than this agent. They are left out then: what is not kept differs from
// what the driver says with each pass.
type unkept struct {
	// written are the versions of events as which pods were written.
	written map[types.UID]string
	// events are those whose pods were not kept.
	events map[types.UID]bool
	told   bool
}

func newUnkept() unkept {
	return unkept{written: map[types.UID]string{}, events: map[types.UID]bool{}}
}

// wrote notes the version that the server has given what was written.
func (u *unkept) wrote(event types.UID, version string, status lifecyclev1alpha1.LifecycleEventStatus) {
	delete(u.written, event)
	if len(status.LeftToResponders) > 0 {
		u.written[event] = version
	}
}

// look takes in what the server has kept, and leaves out of the facts what it does not
// keep. It is true the first time that something is missing.
func (u *unkept) look(facts transition.Facts) (first bool) {
	for _, e := range facts.Events {
		if version, wrote := u.written[e.UID]; !wrote || version != e.ResourceVersion {
			continue
		}
		delete(u.written, e.UID)
		if len(e.Status.LeftToResponders) == 0 {
			u.events[e.UID] = true
			first, u.told = first || !u.told, true
		}
	}
	for event := range u.events {
		call := facts.Calls[event]
		if call.Answer == nil {
			continue
		}
		answer := *call.Answer
		answer.LeftToResponders = nil
		call.Answer = &answer
		facts.Calls[event] = call
	}
	return first
}

// keep forgets the events that are not there any more.
func (u *unkept) keep(present map[types.UID]bool) {
	maps.DeleteFunc(u.written, func(event types.UID, _ string) bool { return !present[event] })
	maps.DeleteFunc(u.events, func(event types.UID, _ bool) bool { return !present[event] })
}
