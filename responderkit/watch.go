// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"fmt"
	"io"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	lifecycleinformers "k8s.io/client-go/informers/lifecycle/v1alpha1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// watch returns an informer of the Evictions that name the responder, by the label of the
// evictionrequest-controller. Each change adds a key to the queue.
func (r *responder) watch() (cache.SharedIndexInformer, error) {
	ours := fmt.Sprintf("%s in (%s,%s)", r.config.Name,
		evictionv1alpha1.EvictionParticipantRoleResponder, evictionv1alpha1.EvictionParticipantRoleRequesterResponder)
	informer := lifecycleinformers.NewFilteredEvictionInformer(r.client, r.config.Namespace, 0, nil,
		func(options *metav1.ListOptions) { options.LabelSelector = ours })
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    r.enqueue,
		UpdateFunc: func(_, e any) { r.enqueue(e) },
		DeleteFunc: r.enqueue,
	})
	if err := errors.Join(err, informer.SetWatchErrorHandlerWithContext(logWatchError)); err != nil {
		return nil, fmt.Errorf("watch Evictions: %w", err)
	}
	return informer, nil
}

func (r *responder) enqueue(e any) {
	if key, err := cache.DeletionHandlingObjectToName(e); err == nil { // watched objects have a name
		r.queue.Add(key)
	}
}

func finder(store cache.Store) func(cache.ObjectName) *evictionv1alpha1.Eviction {
	return func(key cache.ObjectName) *evictionv1alpha1.Eviction {
		found, exists, err := store.GetByKey(key.String())
		e, ok := found.(*evictionv1alpha1.Eviction)
		if err != nil || !exists || !ok {
			return nil
		}
		return e
	}
}

// logWatchError logs the reason for a failed watch of Evictions, and a remedy. The
// reflector restarts the watch.
func logWatchError(ctx context.Context, _ *cache.Reflector, err error) {
	advice := ""
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		klog.FromContext(ctx).V(4).Info("The watch of Evictions has ended; restarting it", "reason", err.Error())
		return
	case apierrors.IsNotFound(err):
		advice = "kube-apiserver serves the API with --feature-gates=EvictionRequestAPI=true and --runtime-config=lifecycle.k8s.io/v1alpha1=true"
	case apierrors.IsForbidden(err):
		advice = "let this process list and watch evictions in API group " + evictionv1alpha1.GroupName
	}
	klog.FromContext(ctx).Info("Evictions cannot be watched; trying again", "reason", err.Error(), "advice", advice)
}
