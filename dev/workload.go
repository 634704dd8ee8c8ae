// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"

	"golang.org/x/sync/errgroup"
)

// workload is what runs on the demo's cluster.
//
//go:embed workload.yaml
var workload []byte

// startWorkload returns when all of it runs, or has finished.
func startWorkload(ctx context.Context, k kubectl) error {
	if _, err := k.run(ctx, workload, "apply", "-f", "-"); err != nil {
		return err
	}
	const patience = "--timeout=3m"
	waits, ctx := errgroup.WithContext(ctx)
	for _, args := range [][]string{
		{"rollout", "status", "deployment/cart"},
		{"rollout", "status", "deployment/reports"},
		{"rollout", "status", "statefulset/db"},
		{"rollout", "status", "daemonset/logs"},
		{"wait", "--for=condition=Ready", "pod/shell"},
		{"wait", "--for=condition=Complete", "job/migrate"},
	} {
		waits.Go(func() error {
			_, err := k.run(ctx, nil, append(args, "--namespace=shop", patience)...)
			return err
		})
	}
	return waits.Wait()
}
