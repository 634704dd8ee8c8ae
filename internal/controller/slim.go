// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// slimNode keeps of a Node what is decided on: the cache has those of the whole
// cluster. Who writes a Node reads it from the API server.
func slimNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{TypeMeta: node.TypeMeta, ObjectMeta: slimMeta(node.ObjectMeta)}
	slim.Labels = node.Labels // transitions select by them
	for _, key := range []string{
		nodestate.CordonsAnnotation, nodestate.HomeAnnotation, nodestate.MaintenancesAnnotation, nodestate.LeaseAnnotation,
		slipwayv1alpha1.KeptAway, shutdown.Annotation, shutdown.DrainAnnotation, staticpod.Annotation,
	} {
		if value, has := node.Annotations[key]; has {
			metav1.SetMetaDataAnnotation(&slim.ObjectMeta, key, value)
		}
	}
	slim.Spec.Unschedulable, slim.Spec.Taints = node.Spec.Unschedulable, node.Spec.Taints
	slim.Status.Conditions = node.Status.Conditions
	slim.Status.NodeInfo.BootID = node.Status.NodeInfo.BootID
	return slim, nil
}

// slimPod keeps of an agent's pod where it is and whether it is Ready.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: slimMeta(pod.ObjectMeta)}
	slim.Labels = pod.Labels
	slim.Spec.NodeName = pod.Spec.NodeName
	slim.Status.Phase = pod.Status.Phase
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{c}
		}
	}
	return slim, nil
}

func slimMeta(full metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: full.Name, Namespace: full.Namespace, UID: full.UID, ResourceVersion: full.ResourceVersion,
		Generation: full.Generation, CreationTimestamp: full.CreationTimestamp, DeletionTimestamp: full.DeletionTimestamp,
	}
}
