// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

func TestTheCacheKeepsOfANodeWhatIsDecidedOn(t *testing.T) {
	full := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(time.Unix(1, 0)),
			Labels: map[string]string{"node-role.kubernetes.io/control-plane": "", "pool": "blue"},
			Annotations: map[string]string{
				nodestate.CordonsAnnotation: `{"owners":[{"event":"e","uid":"1","since":"2026-01-02T03:04:05Z"}]}`,
				slipwayv1alpha1.KeptAway:    "2147483647",
				"example.com/large":         "text",
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.NodeSpec{
			Unschedulable: true, PodCIDR: "10.0.0.0/24",
			Taints: []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Images:     []corev1.ContainerImage{{Names: []string{"example.com/app:1"}}},
		},
	}
	got, err := slimNode(full)
	if err != nil {
		t.Fatal(err)
	}
	want := full.DeepCopy()
	want.ManagedFields, want.Spec.PodCIDR, want.Status.Images = nil, "", nil
	delete(want.Annotations, "example.com/large")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if full.Annotations["example.com/large"] == "" {
		t.Error("the object that came was changed")
	}
}

func TestTheCacheLimitsTheConditionsOfANode(t *testing.T) {
	full := &corev1.Node{}
	for i := range 200 {
		full.Status.Conditions = append(full.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(strconv.Itoa(i)), Message: strings.Repeat("ä", 2000)})
	}
	got, err := slimNode(full)
	if err != nil {
		t.Fatal(err)
	}
	conditions := got.(*corev1.Node).Status.Conditions
	if len(conditions) != 100 || conditions[99].Message != strings.Repeat("ä", 1024) {
		t.Errorf("there are %d, with a message of %d bytes", len(conditions), len(conditions[99].Message))
	}
	if len(full.Status.Conditions[0].Message) != 4000 {
		t.Error("the object that came was changed")
	}
}

func TestTheCacheKeepsOfAnEventWhatIsDecidedOn(t *testing.T) {
	large := strings.Repeat(" ", maxParameters) + "{}"
	event := func(parameters string, labels map[string]string) *lifecyclev1alpha1.LifecycleEvent {
		e := &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metav1.ObjectMeta{
				Name: "e", UID: "u", Labels: labels, Finalizers: []string{"slipway.dev/hold"},
				Annotations: map[string]string{
					lifecyclev1alpha1.BreakGlassAnnotation: "true", slipwayv1alpha1.HookAnnotationPrefix + "a": "Open", "example.com/large": large,
				},
				ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
				OwnerReferences: []metav1.OwnerReference{{Name: "owner"}},
			},
			Spec:   lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "t", BindingNode: "n"},
			Status: lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Claimed},
		}
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
		return e
	}
	ofAMaintenance := map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "drain", "example.com/pool": "blue"}
	for name, tc := range map[string]struct {
		options Options
		event   *lifecyclev1alpha1.LifecycleEvent
		keeps   bool
	}{
		"parameters of a drain":                   {Options{}, event(`{"hold":true}`, nil), true},
		"large parameters":                        {Options{}, event(large, nil), false},
		"large parameters of the controller":      {Options{}, event(large, ofAMaintenance), true},
		"large parameters for its built-in drain": {Options{Builtin: []string{BuiltinDrain}}, event(large, nil), true},
	} {
		want := tc.event.DeepCopy()
		want.ManagedFields, want.OwnerReferences = nil, nil
		delete(want.Annotations, "example.com/large")
		delete(want.Labels, "example.com/pool")
		if !tc.keeps {
			want.Spec.Parameters = nil
		}
		got, err := (&process{options: tc.options}).slimEvent(tc.event)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheCacheKeepsOfAPodWhetherItIsReady(t *testing.T) {
	full := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "a", UID: "u", Labels: oversight.AgentLabels()},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "agent"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse},
		}},
	}
	got, err := slimPod(full)
	if err != nil {
		t.Fatal(err)
	}
	want := full.DeepCopy()
	want.Spec.Containers, want.Status.Conditions = nil, want.Status.Conditions[1:]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
