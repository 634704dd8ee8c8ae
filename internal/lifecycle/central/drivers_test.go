// SPDX-License-Identifier: Apache-2.0

package central

import (
	"testing"

	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/lifecycle/dispatch"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// The next call comes once the one before it is answered, or has had its time, and then
// after a pause at most: no work ends that an agent asks for.
func TestWorkIsNotAbandonedBetweenTwoCalls(t *testing.T) {
	if pause := dispatch.CallTimeout + transition.PollInterval; pause >= driverkit.AbandonedAfter {
		t.Errorf("there may be %s between two calls; a driver gives up after %s", pause, driverkit.AbandonedAfter)
	}
}
