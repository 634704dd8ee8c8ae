// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// drainOf is the event that 'kubectl slipway drain NODE' asks for.
func drainOf(t *testing.T, node string, change ...func(*lifecyclev1alpha1.LifecycleEvent)) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event, err := request.Drain{GracePeriod: -1}.Event(node)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(event)
	}
	return event
}

func TestAnEventIsOnlyCreatedWhereNoneIsInItsWay(t *testing.T) {
	elsewhere := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.BindingNode = "worker-2" }
	ended := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded }
	canceled := func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: noon} }
	longer := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.SLA = &metav1.Duration{Duration: 48 * time.Hour} }
	worker1 := drainOf(t, "worker-1")
	for name, tc := range map[string]struct {
		there, wanted *lifecyclev1alpha1.LifecycleEvent
		want          []string // nothing: it is not in the way
	}{
		"the same drain is followed":               {drainOf(t, "worker-1"), worker1, nil},
		"one with another deadline is not":         {drainOf(t, "worker-1", longer), worker1, []string{"spec.sla is 48h0m0s there", "cancel worker-1"}},
		"nor one of another node under its name":   {drainOf(t, "worker-1", elsewhere), worker1, []string{"spec.bindingNode is worker-2 there, and worker-1 here", "cancel worker-2"}},
		"a drain of another node is left alone":    {drainOf(t, "worker-2"), worker1, nil},
		"one that has ended is replaced":           {drainOf(t, "worker-1", elsewhere, ended), worker1, nil},
		"and so is one that is being canceled":     {drainOf(t, "worker-1", canceled), worker1, nil},
		"a return does not wait for a drain":       {drainOf(t, "worker-1"), request.Return("worker-1", ""), []string{"only come after it", "cancel worker-1"}},
		"but for that of its own node":             {drainOf(t, "worker-2"), request.Return("worker-1", ""), nil},
		"even where that goes by another's name":   {drainOf(t, "worker-1", elsewhere), request.Return("worker-1", ""), nil},
		"a drain waits for the return of its node": {request.Return("worker-1", ""), worker1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := conflict(tc.there, tc.wanted)
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("in its way: %v", err)
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in %q", text, err)
				}
			}
		})
	}
}

// keeps is a server that has an event until it is deleted.
type keeps struct {
	client.WithWatch
	there   *lifecyclev1alpha1.LifecycleEvent
	deleted chan watch.Event
}

func keeping(there *lifecyclev1alpha1.LifecycleEvent) *keeps {
	return &keeps{there: there, deleted: make(chan watch.Event, 1)}
}

func (k *keeps) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if k.there == nil {
		return nil
	}
	return apierrors.NewAlreadyExists(schema.GroupResource{}, object.GetName())
}

func (k *keeps) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if event, ok := object.(*lifecyclev1alpha1.LifecycleEvent); ok {
		k.there.DeepCopyInto(event)
	}
	return nil
}

func (k *keeps) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return watch.NewProxyWatcher(k.deleted), nil
}

func (k *keeps) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	k.deleted <- watch.Event{Type: watch.Deleted, Object: k.there}
	k.there = nil
	return nil
}

// areOver are events of somebody that are in nobody's way any more.
func areOver(t *testing.T) map[string]*lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	ofAda := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.RequestedBy, e.Spec.Reason = "ada", "firmware" }
	return map[string]*lifecyclev1alpha1.LifecycleEvent{
		"Deleting LifecycleEvent drain-worker-1, asked for by ada (firmware), which has ended as Succeeded, so that this one takes its place.\n": drainOf(
			t, "worker-1", ofAda, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded }),
		"Waiting until LifecycleEvent drain-worker-1, asked for by ada (firmware), which is being canceled, is gone.\n": drainOf(
			t, "worker-1", ofAda, func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: noon} }),
	}
}

func TestAnEventThatIsOverIsReplacedAndItIsSaidWhoseItWas(t *testing.T) {
	for want, there := range areOver(t) {
		var notes strings.Builder
		got, err := asker{client: keeping(there), notes: &notes}.ask(t.Context(), drainOf(t, "worker-1"))
		if err != nil || !got.ours {
			t.Errorf("ours: %v, %v", got.ours, err)
		}
		if diff := cmp.Diff(want, notes.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestADryRunSaysThatAnEventWhichIsOverWouldBeReplaced(t *testing.T) {
	var text string
	events := areOver(t)
	for _, key := range slices.Sorted(maps.Keys(events)) {
		there := events[key]
		for _, f := range []format{people, names} {
			tool, out, errOut := testTool()
			p := &pursuit{
				tool: tool, output: f, cluster: cluster{home: apigroup.In(lifecyclev1alpha1.GroupKubernetes)},
				wanted: []*lifecyclev1alpha1.LifecycleEvent{drainOf(t, "worker-1")},
				asker:  asker{client: keeping(there), notes: errOut, dry: true},
			}
			if err := p.begin(t.Context(), dryRunServer); err != nil {
				t.Fatal(err)
			}
			text += out.String() + errOut.String()
		}
	}
	golden(t, "dry-run/over", text)
}
