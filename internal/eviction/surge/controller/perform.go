// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// errStale means that the pod or its Deployment has changed since the decision, or was deleted. The watch shows it.
var errStale = errors.New("it has changed since, or was deleted")

// errUnchanged means that the same decision would follow again and again.
var errUnchanged = errors.New("the write has not changed the pod; please report that, with the metadata of the pod")

// perform performs a step.
func (n *namespace) perform(ctx context.Context, g *group, step surge.Step) error {
	switch s := step.(type) {
	case surge.Release:
		return n.release(ctx, g, s)
	case surge.GiveBack:
		log.FromContext(ctx).Info("Returning a pod to its ReplicaSet", "pod", s.Pod.Name, "reason", s.Why)
		if err := n.patch(ctx, s.Pod, giveBack(s.Pod), faultpoint.SurgeGivenBack); err != nil {
			return err
		}
		if t := n.runs.get(s.Pod.UID); t != nil {
			t.givenUp = s.Why
		}
		return nil
	case surge.Forget:
		return n.patch(ctx, s.Pod, forget(s.Pod), faultpoint.SurgeForgotten)
	case surge.Complete:
		if t := n.runs.get(s.Pod.UID); t != nil {
			n.complete(t, s.Message)
		}
		return nil
	default:
		return fmt.Errorf("%T is not a step to perform", step)
	}
}

// release starts the replacement of a pod. A final refusal of the server ends the run.
func (n *namespace) release(ctx context.Context, g *group, s surge.Release) error {
	logger := log.FromContext(ctx).WithValues("pod", s.Pod.Name, "deployment", g.deployment.Name)
	err := n.stillThere(ctx, g.deployment)
	if err != nil {
		return err
	}
	logger.Info("Starting the replacement of a pod")
	err = n.patch(ctx, s.Pod, release(s, g.deployment, n.surger.clock.Now()), faultpoint.SurgeReleased)
	t := n.runs.get(s.Pod.UID)
	if why, refused := refusedForGood(err); refused && t != nil {
		logger.Error(err, "The server refuses the release; the next responder follows")
		n.complete(t, "no replacement was started: "+why)
		return nil
	}
	return err
}

// stillThere reads the Deployment from the API server: a pod whose owner was deleted is garbage-collected.
func (n *namespace) stillThere(ctx context.Context, d *appsv1.Deployment) error {
	switch found, err := live(ctx, d.Name, d.UID, n.surger.clients.AppsV1().Deployments(n.name).Get); {
	case err != nil:
		return err
	case found == nil, found.DeletionTimestamp != nil:
		return fmt.Errorf("read Deployment %s/%s: %w", n.name, d.Name, errStale)
	default:
		return nil
	}
}

// refusedForGood reports whether the server's answer makes another attempt useless.
func refusedForGood(err error) (why string, refused bool) {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return "", false
	}
	said := []rune(status.Status().Message)
	if len(said) > longestReason {
		return string(said[:longestReason-1]) + "…", true
	}
	return string(said), true
}

// longestReason is the maximum length of the server's message, in characters.
const longestReason = 300

// complete ends a run. From then on, the pod counts as ready for its eviction.
func (n *namespace) complete(t *run, message string) {
	n.letGo[t.eviction.UID] = true
	n.runs.remove(t)
	faultpoint.Reach(faultpoint.SurgeReplaced)
	t.complete(message)
}

// patch writes a pod's metadata if the pod has not changed since. From then on, the server's answer counts.
func (n *namespace) patch(ctx context.Context, pod *corev1.Pod, metadata map[string]any, point string) error {
	metadata["uid"], metadata["resourceVersion"] = pod.UID, pod.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode the metadata of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	written, err := n.surger.clients.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case err == nil && written.ResourceVersion == pod.ResourceVersion:
		err = errUnchanged
	case err == nil:
		n.watches.pods.Keep(written)
		faultpoint.Reach(point)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		n.watches.pods.Forget(pod.UID)
		err = errStale
	}
	return fmt.Errorf("write labels and owners of pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

const fieldManager = "slipway-surge"

// release returns the metadata with which a ReplicaSet releases its pod.
func release(s surge.Release, d *appsv1.Deployment, now time.Time) map[string]any {
	hash := s.Pod.Labels[surge.LabelHash]
	return map[string]any{
		"labels": map[string]any{surge.LabelHash: surge.ReleasedHash(hash), surge.LabelReleased: "true"},
		"annotations": map[string]any{
			surge.AnnotationHash: hash, surge.AnnotationSince: now.UTC().Format(time.RFC3339), surge.AnnotationUnready: strconv.Itoa(s.Unready),
		},
		"ownerReferences": []any{map[string]any{
			"apiVersion": appsv1.SchemeGroupVersion.String(), "kind": "Deployment", "name": d.Name, "uid": d.UID,
		}},
	}
}

// giveBack returns the metadata with which the ReplicaSet selects the pod again.
func giveBack(pod *corev1.Pod) map[string]any {
	return map[string]any{"labels": map[string]any{surge.LabelHash: pod.Annotations[surge.AnnotationHash]}}
}

// forget returns the metadata without the marks of a release.
func forget(pod *corev1.Pod) map[string]any {
	metadata := map[string]any{
		"labels":      map[string]any{surge.LabelReleased: nil},
		"annotations": map[string]any{surge.AnnotationHash: nil, surge.AnnotationSince: nil, surge.AnnotationUnready: nil},
	}
	if owner := surge.DeploymentOwner(pod); owner != nil {
		metadata["ownerReferences"] = []any{map[string]any{"$patch": "delete", "uid": owner.UID}}
	}
	return metadata
}
