// SPDX-License-Identifier: Apache-2.0

package update

import (
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/test/harness"
)

// TestMain has two tests at a time: each has a control plane of its own, and waits for most of
// the time, such as for what is abandoned only after a minute.
func TestMain(m *testing.M) { harness.MainOn(m, harness.Options{SideBySide: 2}) }

func quick() harness.PodOptions { return harness.PodOptions{Ready: time.Second, Gone: time.Second} }
