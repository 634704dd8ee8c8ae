// SPDX-License-Identifier: Apache-2.0

// Package podrun lets a process on this machine be what runs in a simulated
// pod: it gets the token that the kubelet would have mounted there, bound to
// the pod and so to its node, and it ends when the pod is deleted.
//
//	AwaitBound ─▶ token, files ─▶ the command ─▶ again, as restartPolicy Always
//	                  └── renewed at four fifths of the token's life
//
// It does not mount volumes, apply limits or report a status: kwok says that
// the pod runs, whatever the process does.
package podrun

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
)

// Pod is what a process has to know of the pod that it stands for.
type Pod struct {
	Namespace, Name, UID string
	Node                 string
	ServiceAccount       string
}

// object is as much of a Pod as is read here.
type object struct {
	Metadata struct {
		UID               string     `json:"uid"`
		ResourceVersion   string     `json:"resourceVersion"`
		DeletionTimestamp *time.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		NodeName           string `json:"nodeName"`
		ServiceAccountName string `json:"serviceAccountName"`
	} `json:"spec"`
}

var (
	errNotBound = errors.New("it is not bound to a node yet")
	errDeleted  = errors.New("the pod is being deleted")
)

// AwaitBound returns the pod as soon as it is bound to a node, or fails when ctx
// is done. It may not exist yet.
func AwaitBound(ctx context.Context, api *kubeapi.Client, namespace, name string) (Pod, error) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	var reason error
	for {
		pod, err := bound(ctx, api, namespace, name)
		if err == nil {
			return pod, nil
		}
		if ctx.Err() == nil || reason == nil { // that time is up explains nothing
			reason = err
		}
		select {
		case <-ctx.Done():
			return Pod{}, fmt.Errorf("wait for pod %s/%s: %w: %w", namespace, name, context.Cause(ctx), reason)
		case <-ticker.C:
		}
	}
}

func bound(ctx context.Context, api *kubeapi.Client, namespace, name string) (Pod, error) {
	var found object
	if err := api.Get(ctx, podPath(namespace, name), &found); err != nil {
		return Pod{}, err
	}
	if found.Metadata.DeletionTimestamp != nil {
		return Pod{}, errDeleted
	}
	if found.Spec.NodeName == "" {
		return Pod{}, errNotBound
	}
	return Pod{
		Namespace: namespace, Name: name, UID: found.Metadata.UID,
		Node: found.Spec.NodeName, ServiceAccount: found.Spec.ServiceAccountName,
	}, nil
}

func podPath(namespace, name string) string {
	return podsPath(namespace) + "/" + url.PathEscape(name)
}

func podsPath(namespace string) string {
	return "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods"
}
