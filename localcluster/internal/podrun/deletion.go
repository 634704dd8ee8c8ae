// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
)

// awaitDeletion returns errDeleted as soon as the pod is being deleted or gone,
// and another error when ctx is done. While the API server is away, the pod
// counts as being there: a kubelet would keep it running too.
func (r Run) awaitDeletion(ctx context.Context) error {
	for {
		err := r.look(ctx)
		if errors.Is(err, errDeleted) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second): // the watch has ended: no hurry to begin another
		}
	}
}

// look sees how the pod is and watches what becomes of it, as long as the
// server keeps the watch open.
func (r Run) look(ctx context.Context) error {
	var now object
	err := r.API.Get(ctx, podPath(r.Pod.Namespace, r.Pod.Name), &now)
	if kubeapi.IsNotFound(err) {
		return errDeleted
	}
	if err != nil {
		return err
	}
	if r.isDeleted(now) {
		return errDeleted
	}
	query := url.Values{
		"watch":           {"true"},
		"fieldSelector":   {"metadata.name=" + r.Pod.Name},
		"resourceVersion": {now.Metadata.ResourceVersion},
	}
	return r.API.Watch(ctx, podsPath(r.Pod.Namespace)+"?"+query.Encode(), func(event kubeapi.Event) error {
		var changed object
		if err := json.Unmarshal(event.Object, &changed); err != nil {
			return fmt.Errorf("decode pod %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
		}
		if event.Type == "DELETED" || event.Type == "MODIFIED" && r.isDeleted(changed) {
			return errDeleted
		}
		return nil
	})
}

// isDeleted holds for another pod of the same name too.
func (r Run) isDeleted(found object) bool {
	return found.Metadata.UID != r.Pod.UID || found.Metadata.DeletionTimestamp != nil
}
