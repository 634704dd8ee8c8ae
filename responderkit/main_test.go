// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// quiet is the test's context with a logger that says nothing.
func quiet(t *testing.T) context.Context {
	t.Helper()
	return klog.NewContext(t.Context(), logr.Discard())
}
