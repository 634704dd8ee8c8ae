// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientsfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/nodelease"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// reader has the objects, as a cache that shows what it should not, or as the API server
// beside it. What the holder does where nothing goes wrong is in test/leases.
func reader(objects ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithScheme(apigroup.In(lifecyclev1alpha1.GroupKubernetes).Scheme()).WithObjects(objects...).
		WithIndex(&lifecyclev1alpha1.LifecycleEvent{}, lifecycleevent.BindingNodeField, func(o client.Object) []string {
			return []string{o.(*lifecyclev1alpha1.LifecycleEvent).Spec.BindingNode}
		}).Build()
}

// holder writes to clients, which have the Node and the lease.
func holder(cached, live client.Reader, clients *clientsfake.Clientset) *Holder {
	return New(Options{
		Cached: cached, Live: live, Leases: clients.CoordinationV1().Leases(nodelease.Namespace), Clock: clocktesting.NewFakePassiveClock(now),
		Writer: func(node string) *nodestate.Writer {
			return nodestate.NewWriter(clients.CoreV1().Nodes(), node, clocktesting.NewFakePassiveClock(now))
		},
	})
}

func theNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a-1"}}
}

func theDrain() *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "drain"}, Spec: lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "t", BindingNode: "a"},
	}
}

func ours() *coordinationv1.Lease {
	lease := nodelease.Take(nil, theNode(), nodelease.Slipway, "p", time.Minute, now)
	lease.ResourceVersion = "1"
	return lease
}

func written(clients *clientsfake.Clientset) (verbs []string) {
	for _, action := range clients.Actions() {
		verbs = append(verbs, action.GetVerb()+" "+action.GetResource().Resource)
	}
	return verbs
}

// The error that is injected is that somebody else is faster, and gives the lease back at once.
func TestTheLeaseOfANodeIsTakenWithTheNextPass(t *testing.T) {
	clients, all := clientsfake.NewClientset(), reader(theNode(), theDrain())
	tried := 0
	clients.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		tried++
		return tried == 1, nil, apierrors.NewAlreadyExists(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "a")
	})
	for range 2 {
		result, err := holder(all, all, clients).Reconcile(t.Context(), "a")
		if err != nil || result.RequeueAfter != loop.AfterStepDelay {
			t.Fatalf("got %v, %v", result, err)
		}
	}
	lease, err := clients.CoordinationV1().Leases(nodelease.Namespace).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	held, is := nodelease.Read(lease, now)
	if !is || held.Holder != nodelease.Slipway || held.Purpose != "LifecycleEvent drain" {
		t.Errorf("it is held: %v, %+v", is, held)
	}
	if owners := lease.OwnerReferences; len(owners) != 1 || owners[0].UID != "a-1" {
		t.Errorf("its owners are %v", owners)
	}
}

// A cache may not show yet what the API server has: the cordon of a node, or an event. The
// error that is injected is a cache that is late; no test can have the real one be so.
func TestALeaseIsNotGivenBackForWhatACacheShows(t *testing.T) {
	mirrored := theNode()
	mirrored.Annotations = map[string]string{nodelease.Annotation: "{}"}
	stale, live := reader(mirrored, ours()), reader(theNode(), ours(), theDrain())
	clients := clientsfake.NewClientset(ours())
	if _, err := holder(stale, live, clients).Reconcile(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := written(clients); len(got) > 0 {
		t.Errorf("it has done %v", got)
	}
	if _, err := holder(stale, stale, clients).Reconcile(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := written(clients); !slices.Equal(got, []string{"update leases"}) {
		t.Errorf("it has done %v", got)
	}
}

func TestWhoeverIsFasterHasTheLease(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	all := reader(theNode(), theDrain())
	for name, tc := range map[string]struct {
		err  error
		fail bool
	}{
		"somebody has created it": {apierrors.NewAlreadyExists(leases, "a"), false},
		"it has changed":          {apierrors.NewConflict(leases, "a", errors.New("changed")), false},
		"no right":                {apierrors.NewForbidden(leases, "a", errors.New("no")), true},
	} {
		t.Run(name, func(t *testing.T) {
			clients := clientsfake.NewClientset()
			clients.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			if _, err := holder(all, all, clients).Reconcile(t.Context(), "a"); (err != nil) != tc.fail {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// The error here is a cache that shows the Node no more, and shows the lease, which went with
// it: nobody makes it anew. What the API server does with the leases of Nodes that go is in
// test/nodelease.
func TestOfANodeThatIsGoneNothingIsDone(t *testing.T) {
	clients, late := clientsfake.NewClientset(), reader(theDrain(), ours())
	result, err := holder(late, late, clients).Reconcile(t.Context(), "a")
	if err != nil || result.RequeueAfter != 0 || len(written(clients)) > 0 {
		t.Errorf("got %v, %v, and it has done %v", result, err, written(clients))
	}
}

// The error here is that the watch of Nodes is behind the watch of leases: the lease wakes its node too early, and the
// Node that is shown last must wake it again.
func TestANodeThatIsShownAfterItsLeaseGetsItsAnnotation(t *testing.T) {
	lease := nodelease.Take(nil, theNode(), "upgrader", "p", time.Minute, now)
	lease.ResourceVersion = "1"
	clients := clientsfake.NewClientset(theNode())
	early := reader(lease)
	for _, node := range (bell{early}).leaseChanged(t.Context(), lease) {
		if _, err := holder(early, early, clients).Reconcile(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	all := reader(lease, theNode())
	for _, node := range (bell{all}).nodeChanged(t.Context(), theNode()) {
		if _, err := holder(all, all, clients).Reconcile(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	if got := written(clients); !slices.Contains(got, "patch nodes") {
		t.Errorf("it has done %v", got)
	}
}

// The error here is a cache that cannot be read.
func TestACacheThatCannotBeReadWakesNobody(t *testing.T) {
	b := bell{unreadable{}}
	transition := &lifecyclev1alpha1.LifecycleTransition{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	if got := b.transitionChanged(t.Context(), transition); got != nil {
		t.Errorf("a transition wakes %v", got)
	}
}

// unreadable injects an error into each list.
type unreadable struct{ client.Reader }

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("the cache has not begun")
}

func TestATransitionWakesTheNodesOfItsEvents(t *testing.T) {
	events := []lifecyclev1alpha1.LifecycleEvent{*theDrain()}
	for transition, want := range map[string][]string{"t": {"a"}, "u": nil} {
		if got := nodesWith(events, transition); !slices.Equal(got, want) {
			t.Errorf("of transition %s: %v, want %v", transition, got, want)
		}
	}
}
