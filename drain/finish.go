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

// ending decides about the end of a drain, once no pod is left.
type ending struct {
	emptied time.Time
	// volumes are still attached, and the drain waits for them. claims: the volumes of some claims are unknown.
	volumes []string
	claims  bool
	// abandoned are still attached, and their time is over.
	abandoned []string
	resolve   []types.NamespacedName
	confirm   bool
	// reached: the drain has reached its targets.
	reached bool
	wake    time.Time
}

// finish decides about the steps from a node without pods in scope to the end: its volumes, then a last LIST.
func finish(leaving []leaver, f facts) ending {
	if !f.podsKnown || len(leaving) > 0 || !f.node.closed() {
		return ending{}
	}
	e := ending{emptied: f.emptied}
	if e.emptied.IsZero() {
		e.emptied = f.now
	}
	e.detach(f)
	switch {
	case e.claims || len(e.volumes) > 0:
	case f.confirmed:
		e.reached = true
	case f.now.Before(f.last.notBefore):
		e.wake = f.last.notBefore
	default:
		e.confirm = true
	}
	return e
}

// lookTimeout limits one read: while the API server is away, the end of ctx must still take effect.
const lookTimeout = 30 * time.Second

// confirm checks once, with a consistent read, whether any pod in scope is left: a watch may lag, and after an early report of
// an empty node an administrator may switch off a machine with running containers.
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
		r.last = readAttempt{}
		return
	}
	// It failed, or showed a pod that the watch is about to show.
	r.last = r.last.after(err, r.d.config.Clock.Now(), rand.Float64())
}

// volumesInUse are the volumes of claims, by the names in Node.status.volumesAttached. The name is empty if no volume of the
// claim can be attached.
type volumesInUse map[types.NamespacedName]string

// detach finds the volumes that are attached to the node although no pod there uses them now: all volumes except the
// volumes of the pods that stay. So the result does not depend on the pods that a process saw leave. The claims of pods that
// stay must be resolved for that; mostly there are none.
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
	unused := slices.DeleteFunc(slices.Sorted(slices.Values(f.node.attached)), func(name string) bool { return used[name] })
	late := e.emptied.Add(timeout)
	switch {
	case !f.now.Before(late): // the drain resolves no further claim, because a reached end must last
		e.abandoned = unused
		return
	case len(unknown) > 0 && !f.now.Before(f.claimRead.notBefore):
		e.resolve, e.claims = unknown, true
		return
	case len(unknown) > 0:
		e.claims, e.wake = true, f.claimRead.notBefore
	default:
		e.volumes = unused
	}
	if e.claims || len(e.volumes) > 0 {
		e.wake = earlier(e.wake, late)
	}
}

// claims returns the volume claims of pods, including the claims from their own templates.
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

// resolve reads the volumes of claims of pods that stay on the node.
func (r *run) resolve(ctx context.Context, claims []types.NamespacedName) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, claim := range claims {
		name, err := r.volumeOf(look, claim)
		if err != nil && !apierrors.IsNotFound(err) {
			r.claimRead = r.claimRead.after(fmt.Errorf("volume of claim %s: %w", claim, err), r.d.config.Clock.Now(), rand.Float64())
			return
		}
		r.volumes[claim] = name
	}
}

func (r *run) volumeOf(ctx context.Context, claim types.NamespacedName) (string, error) {
	core := r.d.config.Pods
	c, err := core.PersistentVolumeClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil || c.Spec.VolumeName == "" {
		return "", err
	}
	volume, err := core.PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
	return attachedName(volume), err
}

// attachedName returns the name of a volume in Node.status.volumesAttached. It is empty for kinds of volumes that are not
// attached, and for kinds from before CSI: for a pod that stays and uses such a volume, the drain waits for its VolumeTimeout.
func attachedName(volume *corev1.PersistentVolume) string {
	csi := volume.Spec.CSI
	if csi == nil {
		return ""
	}
	return "kubernetes.io/csi/" + csi.Driver + "^" + csi.VolumeHandle
}
