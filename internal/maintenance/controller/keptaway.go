// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// lull is for how long pods that are kept away are watched after the last of them: an API server may
// learn late that a Node keeps nothing away any more, and hold one more. A process that starts
// watches for as long, too.
const lull = 10 * time.Minute

// keptAway watches the pods that are kept away from nodes, while there may be any.
type keptAway struct {
	pods    corev1client.PodInterface
	changed func()

	mu    sync.Mutex
	of    *watchstore.Store[maintenance.KeptPod]
	stop  func()
	until time.Time
}

func newKeptAway(pods corev1client.PodInterface, changed func()) *keptAway {
	return &keptAway{pods: pods, changed: changed}
}

// watch watches them until ctx ends, as long as it is wanted and for a lull after that. It returns
// the end of the lull; zero: there is no watch, or it is wanted.
func (k *keptAway) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wanted || k.until.IsZero() {
		k.until = now.Add(lull)
	}
	lasts := now.Before(k.until)
	switch {
	case lasts && k.of == nil:
		k.of = newStore(keptPod, k.changed)
		k.stop = k.of.Start(ctx, podSource(k.pods, "", slipwayv1alpha1.KeptAway+"=true"))
	case !lasts && k.of != nil:
		k.stop()
		k.of = nil
	}
	if wanted || !lasts {
		return time.Time{}
	}
	return k.until
}

// known returns those that have no node. unknown: the watch has not shown them all yet.
func (k *keptAway) known() (pods []maintenance.KeptPod, unknown bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		return nil, false
	}
	pods, filled := k.of.List()
	slices.SortFunc(pods, func(a, b maintenance.KeptPod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return pods, !filled
}

func (k *keptAway) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of != nil {
		k.stop()
		k.of = nil
	}
}

// keptPod returns a pod of a DaemonSet that has no node and is not being deleted. The label alone
// says nothing: the owner of a namespace may set it on any pod.
func keptPod(o metav1.Object) (kept maintenance.KeptPod, wanted bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !sharedpdbs.BelongsToNode(pod) {
		return maintenance.KeptPod{}, false
	}
	return maintenance.KeptPod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Node: nodeFor(pod),
		Gated: slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: slipwayv1alpha1.KeptAwayGate}),
	}, true
}

// nodeFor returns the node that the DaemonSet controller has created the pod for.
func nodeFor(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// keepAway has a Node say what it keeps away; nothing, where that is empty.
func (c *Controller) keepAway(ctx context.Context, node, which string) error {
	after, err := c.Node(node).KeepAway(ctx, which)
	if err != nil || after == nil {
		return err
	}
	c.written.nodes.Keep(after)
	if which == "" {
		faultpoint.Reach(faultpoint.MaintenanceLetBack)
	} else {
		faultpoint.Reach(faultpoint.MaintenanceKeptAway)
	}
	return nil
}

// lift takes our gate off a pod. One that is there again under the same name is another.
func (c *Controller) lift(ctx context.Context, of maintenance.KeptPod) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, of.UID, slipwayv1alpha1.KeptAwayGate)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	err := c.Client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("take the gate off pod %s/%s: %w", of.Namespace, of.Name, err)
	}
	return nil
}
