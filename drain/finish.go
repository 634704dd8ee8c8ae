// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ending is what is left to do once no pod is left.
type ending struct {
	emptied time.Time
	// volumes are still attached, and waited for. claims: it is not known yet whether there are any.
	volumes []string
	claims  bool
	// abandoned are still attached, and not waited for any more.
	abandoned []string
	resolve   []types.NamespacedName
	confirm   bool
	// reached: there is nothing left to do.
	reached bool
	wake    time.Time
}

// finish decides what stands between a node without pods in scope and the end: its volumes, then a last look.
func finish(leaving []leaver, f facts) ending {
	if !f.podsKnown || len(leaving) > 0 || !f.node.closed() {
		return ending{}
	}
	e := ending{emptied: f.emptied}
	if e.emptied.IsZero() {
		e.emptied = f.now
	}
	e.detach(f)
	if e.claims || len(e.volumes) > 0 {
		return e
	}
	switch {
	case f.confirmed:
		e.reached = true
	case f.now.Before(f.confirmAfter):
		e.wake = f.confirmAfter
	default:
		e.confirm = true
	}
	return e
}

// lookTimeout bounds the last LIST: an API server that is away must not keep us from hearing that ctx has ended.
const lookTimeout = 30 * time.Second

// confirm asks the server once, with a consistent read, whether any pod in scope is left: a watch may lag, and a drain
// that reports an empty node too early lets somebody switch off a machine with running containers.
func (r *run) confirm(ctx context.Context, f facts) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	list, err := r.d.config.Pods.Pods("").List(look, metav1.ListOptions{FieldSelector: onNode(r.req.NodeName)})
	if err == nil {
		pods := make([]*corev1.Pod, len(list.Items))
		for i := range list.Items {
			pods[i] = &list.Items[i]
		}
		leaving, _ := filter(scope(r.req.NodeName, pods), f)
		r.confirmed = len(leaving) == 0
	}
	if r.confirmed {
		r.memory.last = readAttempt{}
		return
	}
	r.listFailed(err, r.d.config.Clock.Now(), rand.Float64())
}

// volumesInUse are the volumes of claims, as Node.status.volumesAttached would name them; empty where a claim has none
// that is attached.
type volumesInUse map[types.NamespacedName]string

// detach finds the volumes that are attached to the node although no pod there uses them any more. That is: all but those
// of the pods that stay, so that it does not matter which process saw the others leave. Claims of pods that stay must be
// resolved for that; mostly there are none.
func (e *ending) detach(f facts) {
	timeout := f.request.volumeTimeout()
	if len(f.node.attached) == 0 || timeout == 0 {
		return
	}
	used := map[string]bool{}
	var unknown []types.NamespacedName
	for _, claim := range claims(f.pods) {
		name, known := f.volumes[claim]
		if !known {
			unknown = append(unknown, claim)
		}
		used[name] = true
	}
	late := e.emptied.Add(timeout)
	switch {
	case !f.now.Before(late): // no claim is read any more: what is reached is not taken back for that
		e.abandoned = unused(f.node.attached, used)
		return
	case len(unknown) > 0 && !f.now.Before(f.resolveAfter):
		e.resolve, e.claims = unknown, true
		return
	case len(unknown) > 0:
		e.claims, e.wake = true, f.resolveAfter
	default:
		e.volumes = unused(f.node.attached, used)
	}
	if e.claims || len(e.volumes) > 0 {
		e.wake = earlier(e.wake, late)
	}
}

func unused(attached []string, used map[string]bool) []string {
	left := slices.DeleteFunc(slices.Clone(attached), func(name string) bool { return used[name] })
	slices.Sort(left)
	return left
}

// claims returns the volume claims of pods, those that are made from the pod's own template included.
func claims(pods []*corev1.Pod) []types.NamespacedName {
	var all []types.NamespacedName
	for _, pod := range pods {
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.PersistentVolumeClaim != nil:
				all = append(all, types.NamespacedName{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName})
			case v.Ephemeral != nil:
				all = append(all, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name + "-" + v.Name})
			}
		}
	}
	return all
}

// attachedName is the name of a volume in Node.status.volumesAttached. Empty for kinds of volumes that are not attached,
// and for those of the time before CSI: a pod that stays and uses one makes the drain wait for its VolumeTimeout.
func attachedName(volume *corev1.PersistentVolume) string {
	if volume.Spec.CSI == nil {
		return ""
	}
	return "kubernetes.io/csi/" + volume.Spec.CSI.Driver + "^" + volume.Spec.CSI.VolumeHandle
}

// resolve reads the volumes of claims of pods that stay on the node. A claim that does not exist has none.
func (r *run) resolve(ctx context.Context, claims []types.NamespacedName) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, claim := range claims {
		name, err := r.volumeOf(look, claim)
		if err != nil {
			r.claimFailed(fmt.Errorf("volume of claim %s: %w", claim, err), r.d.config.Clock.Now(), rand.Float64())
			return
		}
		r.volumes[claim] = name
	}
}

func (r *run) volumeOf(ctx context.Context, claim types.NamespacedName) (string, error) {
	core := r.d.config.Pods
	c, err := core.PersistentVolumeClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && c.Spec.VolumeName == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	volume, err := core.PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return attachedName(volume), nil
}
