// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
)

// world is an API whose errors a test chooses, and a Controller on it whose decisions it
// makes. The errors are: requests that are refused, or fail for a while; objects of somebody
// else's in the way; watches that show too late, or never, what was written; decisions that
// panic or come too often. What is done where nothing goes wrong is in test/maintenance.
type world struct {
	*Controller
	api   client.Client
	nodes *kubernetesfake.Clientset
	told  *audience
}

// audience is what people were told.
type audience struct {
	mu  sync.Mutex
	all []string
}

func (t *audience) Tell(about *slipwayv1alpha1.NodeMaintenance, _ bool, reason, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, about.Name+" "+reason+" "+message)
}

func (*audience) Stand(map[string]slipwayv1alpha1.NodeMaintenanceStatus, time.Time) {}

func (*audience) Forget(types.UID) {}

func newWorld(t *testing.T, decide func(maintenance.Facts) maintenance.Decision, funcs interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	label := func(o client.Object) []string {
		if maintenance.Labelled(o) {
			return []string{"true"}
		}
		return nil
	}
	api := fake.NewClientBuilder().WithScheme(apigroup.In(lifecyclev1alpha1.GroupSlipway).Scheme()).WithObjects(objects...).
		WithStatusSubresource(&slipwayv1alpha1.NodeMaintenance{}).WithIndex(&lifecyclev1alpha1.LifecycleEvent{}, ofMaintenances, label).
		WithInterceptorFuncs(funcs).Build()
	nodes, said := kubernetesfake.NewClientset(), &audience{}
	for _, o := range objects {
		if node, ok := o.(*corev1.Node); ok {
			if _, err := nodes.CoreV1().Nodes().Create(t.Context(), node.DeepCopy(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := with(Options{
		Client: api, Live: api, Events: record.New(api), Tell: said, Namespace: "slipway-system", Jobs: true, Clock: clock.RealClock{},
		Node: func(name string) *nodestate.Writer {
			return nodestate.NewWriter(nodes.CoreV1().Nodes(), name, clock.RealClock{})
		},
	}, nodes)
	c.reader, c.watches.lullEnds = api, time.Unix(1, 0)
	c.written = written{
		maintenances: ownwrites.New[*slipwayv1alpha1.NodeMaintenance](shown("")), events: ownwrites.New[*lifecyclev1alpha1.LifecycleEvent](shown("")),
		nodes: ownwrites.New[*corev1.Node](shown("")), jobs: ownwrites.New[*batchv1.Job](shown("")),
	}
	c.next = func(f maintenance.Facts, _ time.Time) maintenance.Decision { return decide(f) }
	return &world{c, api, nodes, said}
}

// shown is a watch that has come as far as this version; empty: nobody knows.
type shown string

func (s shown) LastStoreSyncResourceVersion() string { return string(s) }

func anEvent(name string) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{slipwayv1alpha1.MaintenanceEventLabel: maintenance.LabelDrain},
			Finalizers: []string{slipwayv1alpha1.MaintenanceEventFinalizer},
		},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "drain", BindingNode: "n"},
	}
}

func aMaintenance(name string) *slipwayv1alpha1.NodeMaintenance {
	return &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}}
}
