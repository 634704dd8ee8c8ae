// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"time"
)

// within is the context of what may take that long; 0 is without limit.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
