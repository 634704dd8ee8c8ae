// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// sideBySide is how many drains stand still at a time: most of the time they wait for
// grace periods and for controllers.
const sideBySide = "24"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	harness.Main(m)
}
