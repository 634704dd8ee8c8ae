// SPDX-License-Identifier: Apache-2.0

package slipwayclient

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// cut is a server whose watch shows some changes and then an error.
type cut struct {
	client.WithWatch
	changes []watch.Event
	fails   error
	there   *lifecyclev1alpha1.LifecycleEvent // nil: it was deleted
	node    *corev1.Node                      // nil: the caller may not get it
}

func (c cut) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	if apierrors.IsForbidden(c.fails) {
		return nil, c.fails
	}
	changes := c.changes
	if status, failed := c.fails.(apierrors.APIStatus); failed {
		as := status.Status()
		changes = append(changes, watch.Event{Type: watch.Error, Object: &as})
	}
	all := make(chan watch.Event, len(changes))
	for _, change := range changes {
		all <- change
	}
	return watch.NewProxyWatcher(all), nil
}

func (c cut) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch o := object.(type) {
	case *lifecyclev1alpha1.LifecycleEvent:
		if c.there == nil {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		}
		c.there.DeepCopyInto(o)
	case *corev1.Node:
		if c.node == nil {
			return apierrors.NewForbidden(schema.GroupResource{}, key.Name, nil)
		}
		c.node.DeepCopyInto(o)
	}
	return nil
}

func drainIn(version string, phase lifecyclev1alpha1.ClaimStatus) *lifecyclev1alpha1.LifecycleEvent {
	event := Drain("worker-1", "")
	event.UID, event.ResourceVersion, event.Status.ClaimStatus = "u-1", version, phase
	if phase != lifecyclev1alpha1.Pending {
		event.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "drain.slm.k8s.io", End: "drain-complete"}
	}
	return event
}

func nodeWith(status corev1.ConditionStatus, reason string) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: status, Reason: reason},
	}}}
}

func TestTheOutcomeIsTheLastStateOfTheWatchOrTheConditionOfTheNode(t *testing.T) {
	change := func(kind watch.EventType, event runtime.Object) watch.Event {
		return watch.Event{Type: kind, Object: event}
	}
	pending, claimed := drainIn("1", lifecyclev1alpha1.Pending), drainIn("2", lifecyclev1alpha1.Claimed)
	succeeded, another := drainIn("3", lifecyclev1alpha1.Succeeded), drainIn("9", lifecyclev1alpha1.Claimed)
	another.UID = "u-2"
	failed := drainIn("3", lifecyclev1alpha1.Failed)
	failed.Status.Conditions = []metav1.Condition{{Type: lifecyclev1alpha1.ConditionFinished, Reason: "DriverFailed", Message: "the disk is full"}}
	expired := apierrors.NewResourceExpired("too old")
	drained := nodeWith(corev1.ConditionTrue, "drain-complete")
	for name, tc := range map[string]struct {
		server cut
		want   string // "": success
	}{
		"the watch shows the end":                       {cut{changes: []watch.Event{change(watch.Modified, claimed), change(watch.Modified, succeeded)}}, ""},
		"the last state of a deleted event has it":      {cut{changes: []watch.Event{change(watch.Deleted, succeeded)}}, ""},
		"a failure has its reason":                      {cut{changes: []watch.Event{change(watch.Deleted, failed)}}, "LifecycleEvent drain-worker-1: Failed (DriverFailed): the disk is full"},
		"a deletion before the claim is a cancellation": {cut{changes: []watch.Event{change(watch.Deleted, pending)}}, "Failed (Canceled): the event was deleted before it was claimed"},
		"a missed end is on the Node":                   {cut{changes: []watch.Event{change(watch.Modified, claimed)}, fails: expired, node: drained}, ""},
		"also that of a failure": {
			cut{changes: []watch.Event{change(watch.Modified, claimed)}, fails: expired, node: nodeWith(corev1.ConditionFalse, "SlaExpired")},
			"SlaExpired",
		},
		"also when the name is taken again":      {cut{changes: []watch.Event{change(watch.Modified, claimed)}, fails: expired, there: another, node: drained}, ""},
		"who may not read the Node is told so":   {cut{changes: []watch.Event{change(watch.Modified, claimed)}, fails: expired}, "Unknown: the event was deleted, and its outcome is unknown"},
		"without a claim the outcome is unknown": {cut{fails: expired, node: drained}, "Unknown: the event was deleted, and its outcome is unknown"},
		"what is still there is followed on":     {cut{fails: expired, there: succeeded}, ""},
		"a refusal ends it": {
			cut{fails: apierrors.NewForbidden(schema.GroupResource{Resource: "lifecycleevents"}, "", nil)},
			"follow LifecycleEvent drain-worker-1: lifecycleevents is forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := For(tc.server).Follow(t.Context(), pending)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("it ends with %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("it ends with %v, want %s", err, tc.want)
			}
		})
	}
}

func TestAnotherEventOfTheNameIsNotFollowed(t *testing.T) {
	there := drainIn("1", lifecyclev1alpha1.Claimed)
	there.Spec.SLA = &metav1.Duration{Duration: 1}
	_, err := For(has{there: there}).Run(t.Context(), Drain("worker-1", ""))
	if want := "LifecycleEvent drain-worker-1 exists with other parameters: spec.sla is 1ns there, and not set here"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// has is a server that has an event already.
type has struct {
	client.WithWatch
	there *lifecyclev1alpha1.LifecycleEvent
}

func (h has) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return apierrors.NewAlreadyExists(schema.GroupResource{}, object.GetName())
}

func (h has) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if event, ok := object.(*lifecyclev1alpha1.LifecycleEvent); ok {
		h.there.DeepCopyInto(event)
	}
	return nil
}
