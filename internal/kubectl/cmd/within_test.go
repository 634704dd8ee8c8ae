// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"
	"time"
)

func TestATimeoutOfZeroIsNoLimit(t *testing.T) {
	for limit, limited := range map[time.Duration]bool{0: false, time.Hour: true} {
		ctx, cancel := within(t.Context(), limit)
		if _, got := ctx.Deadline(); got != limited || ctx.Err() != nil {
			t.Errorf("--timeout=%s: there is a limit: %t; %v", limit, got, ctx.Err())
		}
		cancel()
	}
}
