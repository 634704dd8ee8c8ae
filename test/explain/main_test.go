// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
