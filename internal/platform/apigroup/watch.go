// SPDX-License-Identifier: Apache-2.0

package apigroup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Watch notices that the API has moved to another group while a process runs. It sends requests only after a watch has
// failed.
type Watch struct {
	config *rest.Config
	client *http.Client
	home   Home
	lost   atomic.Pointer[string]
}

// NewWatch returns the watch of a process that has found the API in the given home.
func NewWatch(config *rest.Config, client *http.Client, found Home) *Watch {
	return &Watch{config: config, client: client, home: found}
}

// Failed is called whenever a watch of the process ends with an error. A 404 can mean that the server no longer serves the
// group.
func (h *Watch) Failed(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if !apierrors.IsNotFound(err) {
		return
	}
	found, err := Find(ctx, h.config, h.client)
	switch {
	case err == nil && found == h.home:
		h.record(ctx, "")
	case err == nil:
		h.record(ctx, fmt.Sprintf("the API of LifecycleEvents has moved from %s to %s: restart this process to follow it",
			h.home.Group(), found.Group()))
	case errors.Is(err, ErrNotInstalled):
		h.record(ctx, h.goneMessage())
	}
}

// record keeps a message for the readiness check, and logs a new one. An empty message means success.
func (h *Watch) record(ctx context.Context, message string) {
	if before := h.lost.Swap(&message); message != "" && (before == nil || *before != message) {
		klog.FromContext(ctx).Error(errors.New(message), "Not ready: the API of LifecycleEvents has moved")
	}
}

func (h *Watch) goneMessage() string {
	text := fmt.Sprintf("the API server no longer serves LifecycleEvents in %s", h.home.Group())
	if h.home.Group() == lifecyclev1alpha1.GroupKubernetes {
		text += ": either their CRD was deleted, or the server serves that group itself now (feature gate " +
			"EvictionRequestAPI): apply the CRDs of " + lifecyclev1alpha1.GroupSlipway + " and restart this process"
	}
	return text
}

// Check is a readiness check. /readyz/api-home serves its message.
func (h *Watch) Check() error {
	if message := h.lost.Load(); message != nil && *message != "" {
		return errors.New(*message)
	}
	return nil
}
