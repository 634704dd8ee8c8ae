// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/slipway-k8s/slipway/bench/internal/page"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
)

// soakMixed does all of it on a cluster of its own.
func soakMixed(ctx context.Context, s settings, progress io.Writer) (r mixedResults, err error) {
	// More nodes or pods would only make each thing take longer.
	s.nodes, s.podsPerNode, s.sizes = mixedNodes, mixedPods, nil
	err = onStage(ctx, s, progress, func(g *stage) (err error) {
		r, err = g.measureMixed(ctx)
		return err
	})
	return r, err
}

// runMixed measures a controller under mixed load, and shows what came of it.
func runMixed(ctx context.Context, s settings, o outputs) error {
	measured := describe(ctx)
	r, err := soakMixed(ctx, s, os.Stderr)
	if err != nil {
		return err
	}
	r.Conditions = measured
	r.Conditions.Load = proc.Load()
	if o.results != "" {
		if err := r.write(o.results); err != nil {
			return err
		}
	}
	if o.page == "" {
		_, err = io.WriteString(os.Stdout, r.markdown())
	} else {
		err = page.Insert(o.page, "mixed", r.markdown())
	}
	return errors.Join(err, r.held())
}
