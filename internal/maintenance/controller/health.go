// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubectl/pkg/util/podutils"

	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// health watches the pods of the nodes that have returned, while it is asked for.
type health struct {
	pods    corev1client.PodInterface
	changed func()

	mu sync.Mutex
	of map[string]*nodeHealth
}

// nodeHealth has the pods of DaemonSets on a node that are not Ready.
type nodeHealth struct {
	*shelf[string]
	*filling
}

func newHealth(pods corev1client.PodInterface, changed func()) *health {
	return &health{pods: pods, changed: changed, of: map[string]*nodeHealth{}}
}

// watch watches the pods of these nodes, and no others, until ctx ends.
func (h *health) watch(ctx context.Context, nodes []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, n := range h.of {
		if !slices.Contains(nodes, name) {
			n.close()
			delete(h.of, name)
		}
	}
	for _, name := range nodes {
		if h.of[name] != nil {
			continue
		}
		s := newShelf(unready, h.changed)
		on := fields.OneTermEqualSelector("spec.nodeName", name).String()
		h.of[name] = &nodeHealth{s, fill(ctx, s, &corev1.Pod{}, on, h.pods.List, h.pods.Watch)}
	}
}

// unreadyOn are the pods of DaemonSets on the node that are not Ready. known is false where that
// is not known, or not yet.
func (h *health) unreadyOn(node string) (pods []string, known bool) {
	h.mu.Lock()
	n := h.of[node]
	h.mu.Unlock()
	if n == nil {
		return nil, false
	}
	pods, known = n.all()
	slices.Sort(pods)
	return pods, known
}

func (h *health) close() { h.watch(context.Background(), nil) }

// unready is the name of a pod that belongs to its node and is not Ready.
func unready(o metav1.Object) (name string, wanted bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return "", false
	}
	if !sharedpdbs.BelongsToNode(pod) {
		return "", false
	}
	return pod.Namespace + "/" + pod.Name, !podutils.IsPodReady(pod)
}
