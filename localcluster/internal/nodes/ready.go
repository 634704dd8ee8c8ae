// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// notReadyTaint keeps pods away from a new node. It goes a moment after the
// node has become ready: only then does a pod find its place there.
const notReadyTaint = "node.kubernetes.io/not-ready"

var errNotReady = errors.New("nodes are not ready")

// AwaitReady returns when pods can be scheduled to every simulated node, or
// when ctx is done.
func AwaitReady(ctx context.Context, api *kubeapi.Client, config state.Config) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var reason error
	for {
		waiting, err := unready(ctx, api, config)
		if err == nil && len(waiting) == 0 {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%w: %s", errNotReady, abbreviate(waiting))
		}
		if ctx.Err() == nil || reason == nil { // that time is up explains nothing
			reason = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), reason)
		case <-ticker.C:
		}
	}
}

func unready(ctx context.Context, api *kubeapi.Client, config state.Config) ([]string, error) {
	var list struct {
		Items []node `json:"items"`
	}
	if err := api.Get(ctx, collection, &list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	waiting := Names(config)
	return slices.DeleteFunc(waiting, func(name string) bool {
		return slices.ContainsFunc(list.Items, func(n node) bool { return n.Metadata.Name == name && isReady(n) })
	}), nil
}

func isReady(n node) bool {
	return slices.Contains(n.Status.Conditions, condition{Type: "Ready", Status: "True"}) &&
		!slices.Contains(n.Spec.Taints, taint{Key: notReadyTaint})
}

// abbreviate names a few of many.
func abbreviate(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
