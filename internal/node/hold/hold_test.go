// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const uid types.UID = "089c246e-735f-4e59-87b8-3363310869c8"

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "node"}}
}

func event(user, actor string) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "e", UID: uid},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{RequestedBy: user, Actor: actor, Reason: "disk"},
	}
}

func ofMaintenance(e *lifecyclev1alpha1.LifecycleEvent) *lifecyclev1alpha1.LifecycleEvent {
	e.Labels = map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "drain"}
	e.Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: `[{"uid":"m1","name":"night"},{"uid":"m2","name":"disks"}]`}
	return e
}

func TestAHoldNamesItsActorAndEndsWithItsOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		event  *lifecyclev1alpha1.LifecycleEvent
		actor  string
		owners []string
	}{
		"a user":               {event("alice", ""), `user "alice"`, []string{"Node n"}},
		"a user with an actor": {event("ci", "blue"), `user "ci" (actor "blue")`, []string{"Node n"}},
		"an unknown user":      {event("", ""), `LifecycleEvent "e"`, []string{"Node n"}},
		"two maintenances":     {ofMaintenance(event("carol", "")), `NodeMaintenance "night"`, []string{"NodeMaintenance night", "NodeMaintenance disks"}},
	} {
		h := New(node("n"), tc.event)
		var owners []string
		for _, o := range h.OwnerReferences {
			owners = append(owners, o.Kind+" "+o.Name)
		}
		if diff := cmp.Diff(tc.owners, owners); diff != "" || Actor(h) != tc.actor || h.Spec.EventUID != uid || h.Spec.Purpose != "disk" {
			t.Errorf("%s: %s, for %q, owners (-want +got):\n%s", name, Actor(h), h.Spec.Purpose, diff)
		}
	}
}

func TestTheNameOfAHoldIsValid(t *testing.T) {
	for _, name := range []string{"n", "a.b-c", strings.Repeat("a.", 126) + "a", strings.Repeat("a", 215) + "-b" + strings.Repeat("c", 36)} {
		h := New(node(name), event("alice", ""))
		if wrong := validation.IsDNS1123Subdomain(h.Name); len(wrong) > 0 || !strings.HasSuffix(h.Name, "."+string(uid)) {
			t.Errorf("of node %s, it is %s: %v", name, h.Name, wrong)
		}
	}
}

func TestAReturnReleasesTheHoldsOfItsActor(t *testing.T) {
	all := event("admin", "")
	all.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"release":"All"}`)}
	alices, blues, unknowns := New(node("n"), event("alice", "")), New(node("n"), event("ci", "blue")), New(node("n"), event("", ""))
	nights := New(node("n"), ofMaintenance(event("carol", "")))
	for name, tc := range map[string]struct {
		by                             *lifecyclev1alpha1.LifecycleEvent
		alice, blue, unknown, maintain bool
	}{
		"alice":           {event("alice", ""), true, false, true, false},
		"alice, as x":     {event("alice", "x"), false, false, true, false},
		"ci":              {event("ci", ""), false, false, true, false},
		"ci, as blue":     {event("ci", "blue"), false, true, true, false},
		"an unknown user": {event("", ""), false, false, true, false},
		"carol":           {event("carol", ""), false, false, true, false},
		"a maintenance":   {ofMaintenance(event("carol", "")), false, false, false, true},
		"all":             {all, true, true, true, true},
	} {
		for h, want := range map[*Hold]bool{alices: tc.alice, blues: tc.blue, unknowns: tc.unknown, nights: tc.maintain} {
			if got := ReleasedBy(h, tc.by); got != want {
				t.Errorf("the return of %s releases the hold of %s: %t; want %t", name, Actor(h), got, want)
			}
		}
	}
}

func TestParametersOfAReturn(t *testing.T) {
	for raw, wrong := range map[string]string{
		"":                           "",
		"{}":                         "",
		`{"release":"All"}`:          "",
		`{"release":"Mine"}`:         `spec.parameters.release must be All, or left out; got "Mine"`,
		`{"kind":"DrainParameters"}`: "takes only release: All",
		`{"release":7}`:              "takes only release: All",
	} {
		_, err := ParametersOf([]byte(raw))
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v; want %q", raw, err, wrong)
		}
	}
}

func TestTheHoldersAreNamedForPeople(t *testing.T) {
	var holds []*Hold
	for _, user := range []string{"alice", "bob", "carol", "dave"} {
		h := New(node("n"), event(user, ""))
		h.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		if user == "bob" {
			h.Spec.Until = &metav1.Time{Time: h.CreationTimestamp.Add(time.Hour)}
		}
		holds = append(holds, h)
	}
	const since = ` for "disk" since 2026-01-02T03:04:05Z`
	want := `user "alice"` + since + `, and user "bob"` + since + ` until 2026-01-02T04:04:05Z, and user "carol"` + since + `, and 1 more`
	if got := Text(holds); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}
