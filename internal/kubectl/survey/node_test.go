// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

// refusing answers each request with an error, but that for the events.
type refusing struct {
	err    error
	events []lifecyclev1alpha1.LifecycleEvent
}

func (r refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return r.err
}

func (r refusing) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*lifecyclev1alpha1.LifecycleEventList); ok && r.events != nil {
		list.Items = r.events
		return nil
	}
	return r.err
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("not yours"))

func TestWhatMayNotBeReadIsSaidAndNoFailure(t *testing.T) {
	e := lifecyclev1alpha1.LifecycleEvent{}
	e.Status.Blockers = []lifecyclev1alpha1.Blocker{
		{Object: "Pod shop/a", Reason: "BudgetExhausted", By: "PodDisruptionBudget shop/cart"},
		{Object: "Pod shop/b", Reason: "BudgetExhausted", By: "PodDisruptionBudget shop/web"},
		{Object: "Pod shop/c", Reason: "PodSkipped", By: "DrainRule shop/stay"},
		{Object: "Pod shop/d", Reason: "NamespaceTerminating", By: "Namespace shop"},
		{Object: "Node worker-1", Reason: "VolumeAttached", By: "Volume kubernetes.io/csi/d^v"},
	}
	f, err := (&Reader{refusing{forbidden, []lifecyclev1alpha1.LifecycleEvent{e}}}).Node(t.Context(), "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []explain.Kind
	for _, u := range f.Unread {
		kinds = append(kinds, u.Kind)
		if !strings.Contains(u.Why, "not yours") {
			t.Errorf("%s: %q does not say why", u.Kind, u.Why)
		}
	}
	for _, kind := range []explain.Kind{
		explain.TheNode, explain.Pods, explain.AgentPods, explain.Transitions, explain.ControllerPods, explain.Lease, explain.Budgets,
		explain.Rules, explain.Namespaces, explain.Attachments, explain.CoreEvents,
	} {
		if n := len(slices.DeleteFunc(slices.Clone(kinds), func(k explain.Kind) bool { return k != kind })); n != 1 {
			t.Errorf("%s is noted %d times in %v, want once", kind, n, kinds)
		}
	}
	if len(f.Events) != 1 {
		t.Errorf("got %d events, want the one that may be read", len(f.Events))
	}
}

func TestAServerThatDoesNotAnswerIsAnError(t *testing.T) {
	if _, err := (&Reader{refusing{err: errors.New("connection refused")}}).Node(t.Context(), "worker-1"); err == nil {
		t.Error("no error")
	}
}

func TestSomebodyWithoutRightsIsToldSo(t *testing.T) {
	f, err := (&Reader{refusing{err: forbidden}}).Node(t.Context(), "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.Unread, func(u explain.Unread) bool { return u.Kind == explain.Events }) {
		t.Errorf("nothing says that the events could not be read: %v", f.Unread)
	}
}

var gone = apierrors.NewNotFound(corev1.Resource("nodes"), "worker-1")

func TestWhatIsNotThereWasRead(t *testing.T) {
	f, err := (&Reader{refusing{gone, []lifecyclev1alpha1.LifecycleEvent{{}}}}).Node(t.Context(), "worker-1")
	if err != nil || f.Node != nil || len(f.Unread) != 0 {
		t.Errorf("got node %v, unread %v, error %v; want nothing", f.Node, f.Unread, err)
	}
}

// A tenant can give pods any labels, in a namespace of theirs.
func TestPodsOfATenantAreNotSlipway(t *testing.T) {
	l := &library{refused: func(any) bool { return false }}
	f, err := (&Reader{l}).Node(t.Context(), "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	if f.Namespace != "slipway" || len(f.ControllerPods) != 0 {
		t.Errorf("Slipway is in namespace %q, with %d controllers; want slipway, and not the tenant's", f.Namespace, len(f.ControllerPods))
	}
}

func TestOfANodeThatIsNotThereNothingIsToldUnlessEventsAreBoundToIt(t *testing.T) {
	_, err := (&Reader{refusing{err: gone}}).Node(t.Context(), "worker-1")
	if want := (NoSuchNodeError{"worker-1"}); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
