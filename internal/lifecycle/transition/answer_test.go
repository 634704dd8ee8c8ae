// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Who waits for a condition after a change of the parameters must not take the word of
// the driver about the older ones for it.
func TestADriversConditionIsOfTheParametersThatItWasGiven(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	fold(&e.Status, e, Answer{Generation: 1, EventConditions: []Condition{{Type: "T", Status: "True", Reason: "R"}}}, time.Unix(1, 0))
	if got := apimeta.FindStatusCondition(e.Status.Conditions, "T").ObservedGeneration; got != 1 {
		t.Errorf("observedGeneration is %d; want 1", got)
	}
}

// What a driver did until it was told to stop is in its last answer only.
func TestTheLastWordsOfADriverAreKept(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Finalizers: []string{lifecyclev1alpha1.ClaimProtectionFinalizer},
	}}
	e.Status = lifecyclev1alpha1.LifecycleEventStatus{
		ClaimStatus: lifecyclev1alpha1.Claimed, State: "from", Driver: &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "from", End: "to"},
	}
	now := time.Unix(100, 0)
	step := newWork(&Facts{
		Drivers: func(string) Driver { return Driver{Registered: true} },
		Calls: map[types.UID]Call{"u": {AnsweredKind: CallLastEnd, Answer: &Answer{
			State: "from", EventConditions: []Condition{{Type: "T", Status: "True", Reason: "R"}},
		}}},
	}, e, now).endEarly(ending{lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired, "", now}).Step
	write, ok := step.(WriteStatus)
	if !ok || write.Status.ClaimStatus != lifecyclev1alpha1.SlaExpired || !apimeta.IsStatusConditionTrue(write.Status.Conditions, "T") {
		t.Errorf("got %+v; want that it ends, with condition T", step)
	}
}

func TestPodsThatAreLeftToRespondersAreKeptUntilTheDriverSaysOtherwiseOrTheEventEnds(t *testing.T) {
	pods := []lifecyclev1alpha1.PodReference{{Namespace: "shop", Name: "cart-0", UID: "u"}}
	e := &lifecyclev1alpha1.LifecycleEvent{}
	for _, step := range []struct {
		what    string
		said    []lifecyclev1alpha1.PodReference
		ends    bool
		isThere bool
	}{
		{"they are named", pods, false, true},
		{"nothing is said, as after a restart of the driver", nil, false, true},
		{"there are none any more", []lifecyclev1alpha1.PodReference{}, false, false},
		{"they are named again", pods, false, true},
		{"the event ends", nil, true, false},
	} {
		fold(&e.Status, e, Answer{LeftToResponders: step.said}, time.Unix(1, 0))
		if step.ends {
			conclude(&e.Status, e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled, "", time.Unix(2, 0))
		}
		if got := len(e.Status.LeftToResponders) > 0; got != step.isThere {
			t.Errorf("%s: the event names %v", step.what, e.Status.LeftToResponders)
		}
	}
}

// The controller asks for evictions when it reads them.
func TestThatPodsAreLeftToRespondersIsWrittenAtOnce(t *testing.T) {
	pods := []lifecyclev1alpha1.PodReference{{Namespace: "shop", Name: "cart-0", UID: "u"}}
	now := time.Unix(100, 0)
	for name, tc := range map[string]struct {
		before []lifecyclev1alpha1.PodReference
		said   []lifecyclev1alpha1.PodReference
		want   bool
	}{
		"the first":                 {nil, pods, true},
		"none":                      {nil, []lifecyclev1alpha1.PodReference{}, false},
		"fewer than before":         {pods, []lifecyclev1alpha1.PodReference{}, false},
		"others, besides the first": {pods, append(pods, lifecyclev1alpha1.PodReference{Namespace: "shop", Name: "cart-1", UID: "v"}), false},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{}
		e.UID = "u"
		e.Status = lifecyclev1alpha1.LifecycleEventStatus{
			State: "from", Driver: &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "from", End: "to"}, LeftToResponders: tc.before,
		}
		f := Facts{
			Drivers:    func(string) Driver { return Driver{Registered: true} },
			ReportedAt: map[types.UID]time.Time{"u": now},
			Calls:      map[types.UID]Call{"u": {AnsweredKind: CallEnd, Answer: &Answer{State: "from", LeftToResponders: tc.said}}},
		}
		decision := newWork(&f, e, now.Add(time.Millisecond)).report()
		if got := decision.Step != nil; got != tc.want {
			t.Errorf("%s: it is written at once: %t", name, got)
		}
	}
}

// The API server takes a status as a whole or not at all.
func TestPodsThatAreNoneDoNotKeepAStatusFromBeingWritten(t *testing.T) {
	good := lifecyclev1alpha1.PodReference{Namespace: "shop", Name: "cart-0", UID: "u"}
	said := []lifecyclev1alpha1.PodReference{
		good, good,
		{},
		{Namespace: "shop", Name: "cart-1"},
		{Namespace: "shop", UID: "u"},
		{Name: "cart-1", UID: "u"},
		{Namespace: strings.Repeat("n", 64), Name: "cart-1", UID: "u"},
		{Namespace: "shop", Name: strings.Repeat("n", 254), UID: "u"},
		{Namespace: "shop/../bank", Name: "cart-1", UID: "u"},
		{Namespace: "shop", Name: "Cart\n", UID: "u"},
		{Namespace: "shop", Name: "cart-1", UID: types.UID(strings.Repeat("u", 1000))},
		{Namespace: "shop", Name: "cart-1", UID: "\xff"},
	}
	if diff := cmp.Diff([]lifecyclev1alpha1.PodReference{good}, boundedPods(said)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 1000 {
		said = append(said, lifecyclev1alpha1.PodReference{Namespace: "shop", Name: fmt.Sprint("cart-", i), UID: "u"})
	}
	if n := len(boundedPods(said)); n != 500 {
		t.Errorf("%d are named; 500 may be", n)
	}
}
