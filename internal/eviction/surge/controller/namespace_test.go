// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestAPanicIsAnErrorOfItsNamespace: the process goes on, and the namespace is tried again.
func TestAPanicIsAnErrorOfItsNamespace(t *testing.T) {
	_, _, err := guarded(t.Context(), func(context.Context) (bool, time.Time, error) { panic("no such label") })
	if err == nil || !strings.Contains(err.Error(), "no such label") {
		t.Errorf("the error is %v", err)
	}
}
