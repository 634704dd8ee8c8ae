// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

func TestMain(m *testing.M) {
	// One of these sleeps by the machine's clock, which makes no sense in the virtual time of synctest.
	utilruntime.ErrorHandlers = nil
	code := m.Run()
	if started != nil {
		started.stop()
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
