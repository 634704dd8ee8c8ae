// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HomeAnnotation remembers on a Node in which API group its events were read last.
const HomeAnnotation = "slipway.dev/api-home"

// homeMemory is the value of the annotation.
type homeMemory struct {
	Group string `json:"group"`
	// Since is when the API moved to this group from another one.
	Since time.Time `json:"since,omitzero"`
}

// RememberHome records the API group in which events are read now. It returns since
// when that is so, if they were read in another group before: events that are older
// come back from a storage of long ago. Else the time is zero.
func (w *Writer) RememberHome(ctx context.Context, group string) (time.Time, error) {
	node, err := w.nodes.Get(ctx, w.nodeName, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the API home of node %s: %w", w.nodeName, err)
	}
	memory, changed := movedHome(node, group, w.clock.Now())
	if !changed {
		return memory.Since, nil
	}
	text, err := json.Marshal(memory)
	if err != nil {
		return time.Time{}, fmt.Errorf("encode annotation %s: %w", HomeAnnotation, err)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{HomeAnnotation: string(text)}},
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("encode annotation %s: %w", HomeAnnotation, err)
	}
	if _, err := w.nodes.Patch(ctx, w.nodeName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return time.Time{}, fmt.Errorf("write the API home of node %s: %w", w.nodeName, err)
	}
	return memory.Since, nil
}

// movedHome is what is to be remembered, and whether that is new.
func movedHome(node *corev1.Node, group string, now time.Time) (homeMemory, bool) {
	var memory homeMemory
	if err := json.Unmarshal([]byte(node.Annotations[HomeAnnotation]), &memory); err != nil || memory.Group == "" {
		return homeMemory{Group: group}, true
	}
	if memory.Group == group {
		return memory, false
	}
	return homeMemory{Group: group, Since: now.UTC().Truncate(time.Second)}, true
}
