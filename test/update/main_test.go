// SPDX-License-Identifier: Apache-2.0

package update

import (
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func quick() harness.PodOptions { return harness.PodOptions{Ready: time.Second, Gone: time.Second} }
