// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
)

// checkKey is what drivers are checked for, whichever node wants to know: else the
// checks of many nodes would take each other's place and none would end.
const checkKey = "all nodes"

// sharedDrivers is what one node's loop sees of the drivers that all nodes share. A
// driver that has answered for any of them has answered for all.
type sharedDrivers struct {
	registry agent.Drivers
	asked    map[string]string // the key that this node asked for last, by driver
}

// Driver is the state of a driver.
func (s *sharedDrivers) Driver(name string) plugins.State {
	state := s.registry.Driver(name)
	if state.ReadyFor == checkKey {
		state.ReadyFor = s.asked[name]
	}
	return state
}

// Check finds out whether a driver is ready.
func (s *sharedDrivers) Check(name, key string) {
	s.asked[name] = key
	s.registry.Check(name, checkKey)
}
