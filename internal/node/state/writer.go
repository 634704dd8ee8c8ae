// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// ErrStale means that the Node has changed since it was read, or was deleted.
var ErrStale = errors.New("the Node has changed since")

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

// Cordon makes the Node unschedulable for the given event. Repeating it changes nothing.
func (w *Writer) Cordon(ctx context.Context, event string, uid types.UID) error {
	return w.change(ctx, "cordon", func(node *corev1.Node, state cordonState) cordonState {
		owner := Owner{Event: event, UID: uid, Since: w.clock.Now().UTC().Truncate(time.Second)}
		return state.cordonedFor(owner, cordons.By(node))
	})
}

// Release undoes the cordon for the given event, if the Node exists and has one.
func (w *Writer) Release(ctx context.Context, uid types.UID) error {
	err := w.change(ctx, "release the cordon of", func(_ *corev1.Node, state cordonState) cordonState {
		return state.releasedBy(uid)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Return undoes all cordons of Slipway. If the Node stays unschedulable, Return returns the cordon that keeps it so.
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

// WishStaticPodsAway adds static pods that must leave for an event to its earlier wishes. The Node must be cordoned
// for the event: the wish ends with that cordon.
func (w *Writer) WishStaticPodsAway(ctx context.Context, wish staticpod.Wish) error {
	cordoned := false
	err := w.change(ctx, "wish static pods away from", func(_ *corev1.Node, state cordonState) cordonState {
		if cordoned = state.isFor(wish.UID); cordoned {
			state.wishes = staticpod.With(state.wishes, wish)
		}
		return state
	})
	if err == nil && !cordoned {
		return fmt.Errorf("wish static pods away from node %s: it is not cordoned for event %s", w.nodeName, wish.Event)
	}
	return err
}

// change reads the Node, and writes the cordon that f returns. It reads a Node again that has changed meanwhile.
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

// Mark sets the given conditions, keeps all other conditions, and returns the Node after that: nil if it was deleted.
func (w *Writer) Mark(ctx context.Context, conditions []corev1.NodeCondition) (*corev1.Node, error) {
	// The server merges the list by type, so conditions of other writers stay.
	node, err := w.patch(ctx, "the conditions", types.StrategicMergePatchType,
		map[string]any{"status": map[string]any{"conditions": whole(conditions...)}}, "status")
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // as documented
	}
	return node, err
}

// patch sends a patch, and returns the Node after it. what names the part of the Node in errors.
func (w *Writer) patch(ctx context.Context, what string, kind types.PatchType, body any, subresources ...string) (*corev1.Node, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode %s of node %s: %w", what, w.nodeName, err)
	}
	node, err := w.nodes.Patch(ctx, w.nodeName, kind, text, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("write %s of node %s: %w", what, w.nodeName, err)
	}
	return node, nil
}

// whole returns conditions whose empty reasons and messages are written, too: a merge keeps a field that the patch
// lacks.
func whole(conditions ...corev1.NodeCondition) []wholeCondition {
	all := make([]wholeCondition, len(conditions))
	for i, c := range conditions {
		all[i] = wholeCondition{c, c.Reason, c.Message}
	}
	return all
}

type wholeCondition struct {
	corev1.NodeCondition
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
