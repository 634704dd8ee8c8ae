// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

// byPod is the index by the target pod's namespace and name; byNamespace that of the
// cache library.
const byPod = "pod"

// targetOf is the pod that an EvictionRequest or an Eviction is about.
func targetOf(obj any) (pod types.NamespacedName, uid types.UID, ok bool) {
	switch o := obj.(type) {
	case *evictionv1alpha1.EvictionRequest:
		if t := o.Spec.Target.Pod; t != nil {
			return types.NamespacedName{Namespace: o.Namespace, Name: t.Name}, t.UID, true
		}
	case *evictionv1alpha1.Eviction:
		if t := o.Spec.Target.Pod; t != nil {
			return types.NamespacedName{Namespace: o.Namespace, Name: t.Name}, t.UID, true
		}
	}
	return types.NamespacedName{}, "", false
}

// watch puts the target of whatever changes into the queue.
func (c *Controller) watch(informer cache.SharedIndexInformer) error {
	err := informer.AddIndexers(cache.Indexers{byPod: func(obj any) ([]string, error) {
		pod, _, ok := targetOf(obj)
		if !ok {
			return nil, nil
		}
		return []string{pod.String()}, nil
	}})
	_, failed := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.changed,
		UpdateFunc: func(_, obj any) { c.changed(obj) },
		DeleteFunc: c.gone,
	})
	return errors.Join(err, failed)
}

func (c *Controller) changed(obj any) {
	if pod, _, ok := targetOf(obj); ok {
		c.queue.Add(pod)
	}
}

func (c *Controller) gone(obj any) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	if o, ok := obj.(metav1.Object); ok {
		c.written.forget(o.GetUID())
	}
	c.changed(obj)
}

// podChanged puts a pod into the queue if somebody wants it evicted.
func (c *Controller) podChanged(pod types.NamespacedName) {
	if keys, err := c.requests.GetIndexer().IndexKeys(byPod, pod.String()); err == nil && len(keys) > 0 {
		c.queue.Add(pod)
	}
}

// asks says whether anybody asks for a pod of the namespace.
func (c *Controller) asks(namespace string) bool {
	keys, err := c.requests.GetIndexer().IndexKeys(cache.NamespaceIndex, namespace)
	return err == nil && len(keys) > 0
}

// taken is what is kept of an object: all but who wrote what, which is looked at once.
func (c *Controller) taken(obj any) (any, error) {
	if e, ok := obj.(*evictionv1alpha1.Eviction); ok && evictionrequest.IsOfKubernetes(e, c.clock.Now()) {
		c.yield.Do(func() { close(c.yielded) })
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
