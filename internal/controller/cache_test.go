// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// TestOneStoreForEachKindThatIsWritten holds what platform/ownwrites needs.
func TestOneStoreForEachKindThatIsWritten(t *testing.T) {
	p := &process{options: Options{Namespace: "slipway-system", MaintenanceJobs: true}, home: apigroup.In(lifecyclev1alpha1.GroupSlipway), watch: &apigroup.Watch{}}
	options := p.caches()
	options.Scheme, options.Mapper = p.home.Scheme(), p.home.Mapper()
	c, err := cache.New(&rest.Config{Host: "http://192.0.2.1"}, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []client.Object{
		&slipwayv1alpha1.NodeMaintenance{}, &lifecyclev1alpha1.LifecycleEvent{}, &corev1.Node{}, &batchv1.Job{},
	} {
		informer, err := c.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := informer.(toolscache.SharedIndexInformer); !ok {
			t.Errorf("%T: it has a %T", kind, informer)
		}
	}
}
