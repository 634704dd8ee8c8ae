// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// Writer writes one Node.
type Writer struct {
	nodes    corev1client.NodeInterface
	nodeName string
	clock    clock.PassiveClock
}

// NewWriter returns the writer of the given Node.
func NewWriter(nodes corev1client.NodeInterface, nodeName string, clock clock.PassiveClock) *Writer {
	return &Writer{nodes: nodes, nodeName: nodeName, clock: clock}
}

// Cordon makes the Node unschedulable for the given event. It may be called again.
func (w *Writer) Cordon(ctx context.Context, event string, uid types.UID) error {
	return w.change(ctx, "cordon", func(node *corev1.Node, state cordonState) cordonState {
		owner := Owner{Event: event, UID: uid, Since: w.clock.Now().UTC().Truncate(time.Second)}
		return state.cordonedFor(owner, cordons.By(node))
	})
}

// Release undoes the cordon that was made for the given event. Where there is none,
// nothing is written.
func (w *Writer) Release(ctx context.Context, uid types.UID) error {
	return w.change(ctx, "release the cordon of", func(_ *corev1.Node, state cordonState) cordonState {
		return state.releasedBy(uid)
	})
}

// Return undoes all our cordons. Where the Node is unschedulable all the same, it
// returns whose cordon that is.
func (w *Writer) Return(ctx context.Context) (*Foreign, error) {
	var left *Foreign
	err := w.change(ctx, "uncordon", func(node *corev1.Node, state cordonState) cordonState {
		left = nil
		returned := state.returned()
		if returned.unschedulable {
			found := cordons.By(node)
			if state.cordons.Before != nil && state.cordons.Before.By != "" {
				found = *state.cordons.Before
			}
			left = &found
		}
		return returned
	})
	return left, err
}

// change reads the Node, and writes what f makes of its cordon. A Node that changed
// meanwhile is read again.
func (w *Writer) change(ctx context.Context, verb string, f func(*corev1.Node, cordonState) cordonState) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := w.nodes.Get(ctx, w.nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		state := stateOf(node)
		patch, err := state.patch(f(node, state), node.ResourceVersion)
		if err != nil || patch == nil {
			return err
		}
		_, err = w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, w.nodeName, err)
	}
	return nil
}

// SetConditions sets the given conditions and leaves all others alone. A Node that
// is gone is not an error.
func (w *Writer) SetConditions(ctx context.Context, conditions []corev1.NodeCondition) error {
	_, err := w.Mark(ctx, conditions)
	return err
}

// Mark is SetConditions for who wants the Node as it is then: nil, if it is gone.
func (w *Writer) Mark(ctx context.Context, conditions []corev1.NodeCondition) (*corev1.Node, error) {
	whole := make([]wholeCondition, len(conditions))
	for i, c := range conditions {
		whole[i] = wholeCondition{c, c.Reason, c.Message}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": whole}})
	if err != nil {
		return nil, fmt.Errorf("encode the conditions of node %s: %w", w.nodeName, err)
	}
	// The list is merged by type: other writers' conditions cannot be lost.
	node, err := w.nodes.Patch(ctx, w.nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // as documented
	case err != nil:
		return nil, fmt.Errorf("set conditions of node %s: %w", w.nodeName, err)
	}
	return node, nil
}

// wholeCondition is a condition whose empty reason and message are written too: what a merge
// leaves out stays as it was.
type wholeCondition struct {
	corev1.NodeCondition
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
