// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/driverkit"
)

// persist does what f does until it succeeds, or ctx ends: an API server that is
// away, or a right that is missing for now, is no failure of the transition. What
// stands in the way is reported meanwhile. A Node that does not exist is one.
func persist(ctx context.Context, report func(driverkit.Answer), f func(context.Context) error) error {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 7, Cap: 10 * time.Second}
	return backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := f(ctx)
		if err == nil || apierrors.IsNotFound(err) {
			return err == nil, err
		}
		klog.FromContext(ctx).Info("Trying again", "reason", err.Error())
		report(driverkit.Answer{Message: err.Error()})
		return false, nil
	})
}
