// SPDX-License-Identifier: Apache-2.0

package central

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/lifecycle/dispatch"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// oneDriver is a registry with a driver in it.
type oneDriver struct {
	state  plugins.State
	checks []string
}

func (d *oneDriver) Driver(string) plugins.State { return d.state }
func (d *oneDriver) Check(name, key string)      { d.checks = append(d.checks, name+" for "+key) }

// The next call comes once the one before it is answered, or has had its time, and then
// after a pause at most: no work ends that an agent asks for.
func TestWorkIsNotAbandonedBetweenTwoCalls(t *testing.T) {
	if pause := dispatch.CallTimeout + transition.PollInterval; pause >= driverkit.AbandonedAfter {
		t.Errorf("there may be %s between two calls; a driver gives up after %s", pause, driverkit.AbandonedAfter)
	}
}

func TestADriverThatHasAnsweredForOneNodeHasAnsweredForAll(t *testing.T) {
	registry := &oneDriver{state: plugins.State{Registered: true}}
	a := &sharedDrivers{registry: registry, asked: map[string]string{}}
	b := &sharedDrivers{registry: registry, asked: map[string]string{}}
	a.Check("drain", "event-1")
	b.Check("drain", "event-2")
	if diff := cmp.Diff([]string{"drain for all nodes", "drain for all nodes"}, registry.checks); diff != "" {
		t.Errorf("checks: they must not take each other's place (-want +got):\n%s", diff)
	}
	if got := a.Driver("drain").ReadyFor; got != "" {
		t.Errorf("before it answers, ready for %q", got)
	}
	registry.state.ReadyFor = checkKey
	if got, want := a.Driver("drain").ReadyFor+" "+b.Driver("drain").ReadyFor, "event-1 event-2"; got != want {
		t.Errorf("when it has answered, ready for %q; want %q", got, want)
	}
	a.Check("drain", "event-3")
	if got := a.Driver("drain").ReadyFor; got != "event-3" {
		t.Errorf("asked for another event, ready for %q", got)
	}
}
