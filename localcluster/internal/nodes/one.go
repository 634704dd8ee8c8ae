// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// Path is that of the Node of this name.
func Path(name string) string { return collection + "/" + name }

// AwaitOne returns when pods can be scheduled to this node, whoever runs it. Every few
// seconds it reports what is missing.
func AwaitOne(ctx context.Context, api *kubeapi.Client, name string, report *progress.Reporter) error {
	const interval, remind = 200 * time.Millisecond, 5 * time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	reported := time.Now()
	var reason error
	for {
		err := ready(ctx, api, name)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || reason == nil { // that time is up explains nothing
			reason = err
		}
		if time.Since(reported) > remind {
			report.Step("waiting: %v", reason)
			reported = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), reason)
		case <-ticker.C:
		}
	}
}

// ready returns nil, or what the Node says of why it is not.
func ready(ctx context.Context, api *kubeapi.Client, name string) error {
	var found struct {
		Spec   spec `json:"spec"`
		Status struct {
			Conditions []struct {
				condition
				Message string `json:"message"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if err := api.Get(ctx, Path(name), &found); err != nil {
		return fmt.Errorf("read node %s: %w", name, err)
	}
	state := node{Spec: found.Spec}
	message := ""
	for _, c := range found.Status.Conditions {
		state.Status.Conditions = append(state.Status.Conditions, c.condition)
		if c.Type == "Ready" {
			message = c.Message
		}
	}
	if !isReady(state) {
		return fmt.Errorf("%w: %s: %s", errNotReady, name, message)
	}
	return nil
}
