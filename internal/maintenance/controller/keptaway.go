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
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// lull is for how long pods that are kept away are watched for after the last of them: an API
// server may be late to see that a Node keeps nothing away any more, and hold one more. A
// process that starts looks for as long, too.
const lull = 10 * time.Minute

// keptAway watches the pods that are kept away from nodes, while there may be any.
type keptAway struct {
	pods    corev1client.PodInterface
	changed func()

	mu    sync.Mutex
	of    *shelf[maintenance.KeptPod]
	runs  *filling
	until time.Time
}

func newKeptAway(pods corev1client.PodInterface, changed func()) *keptAway {
	return &keptAway{pods: pods, changed: changed}
}

// watch watches them until ctx ends, as long as it is wanted and for a lull after that. It returns
// until when it goes on if it is not wanted before; zero: it does not, or it is wanted.
func (k *keptAway) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wanted || k.until.IsZero() {
		k.until = now.Add(lull)
	}
	lasts := now.Before(k.until)
	switch {
	case lasts && k.runs == nil:
		k.of = newShelf(keptPod, k.changed)
		k.runs = fill(ctx, k.of, &corev1.Pod{}, "", k.list, k.begin)
	case !lasts && k.runs != nil:
		k.runs.close()
		k.of, k.runs = nil, nil
	}
	if wanted || !lasts {
		return time.Time{}
	}
	return k.until
}

const keptAwaySelector = slipwayv1alpha1.KeptAway + "=true"

func (k *keptAway) list(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	options.LabelSelector = keptAwaySelector
	return k.pods.List(ctx, options)
}

func (k *keptAway) begin(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector = keptAwaySelector
	return k.pods.Watch(ctx, options)
}

// known are those that are on no node. unknown: they are watched for, and not all have been
// shown yet.
func (k *keptAway) known() (pods []maintenance.KeptPod, unknown bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		return nil, false
	}
	pods, filled := k.of.all()
	slices.SortFunc(pods, func(a, b maintenance.KeptPod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return pods, !filled
}

func (k *keptAway) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs != nil {
		k.runs.close()
		k.of, k.runs = nil, nil
	}
}

// keptPod is a pod of a DaemonSet that is on no node yet, and is not on its way out. The label
// alone says nothing: whoever owns a namespace may set it on any pod.
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

// nodeFor is the node that a DaemonSet's controller has created the pod for.
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
func (m *Maintainer) keepAway(ctx context.Context, node, which string) error {
	after, err := m.Node(node).KeepAway(ctx, which)
	if err != nil || after == nil {
		return err
	}
	m.nodes.keep(after)
	if which == "" {
		faultpoint.Reach(faultpoint.MaintenanceLetBack)
	} else {
		faultpoint.Reach(faultpoint.MaintenanceKeptAway)
	}
	return nil
}

// lift takes our gate off a pod. One that is there again under the same name is another.
func (m *Maintainer) lift(ctx context.Context, of maintenance.KeptPod) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, of.UID, slipwayv1alpha1.KeptAwayGate)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	err := m.Client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("take the gate off pod %s/%s: %w", of.Namespace, of.Name, err)
	}
	return nil
}
