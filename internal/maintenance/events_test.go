// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestHowFarAnEventIs(t *testing.T) {
	const theirs, ourFinalizer = lifecyclev1alpha1.ClaimProtectionFinalizer, slipwayv1alpha1.MaintenanceEventFinalizer
	type is struct{ Over, Ended, Ours bool }
	for name, tc := range map[string]struct {
		phase      lifecyclev1alpha1.ClaimStatus
		deleted    bool
		finalizers []string
		want       is
	}{
		"nobody has seen it":                     {"", false, []string{ourFinalizer}, is{false, false, true}},
		"nobody has seen it, and it is not ours": {"", false, nil, is{false, false, true}},
		"it waits":                               {"Pending", false, []string{ourFinalizer}, is{false, false, true}},
		"it waited, and is deleted":              {"Pending", true, []string{ourFinalizer}, is{true, true, true}},
		"it is claimed":                          {"Claimed", false, []string{theirs, ourFinalizer}, is{false, false, true}},
		"it is claimed, and not protected yet":   {"Claimed", false, []string{ourFinalizer}, is{false, false, true}},
		"it is claimed, and is deleted":          {"Claimed", true, []string{theirs, ourFinalizer}, is{false, true, true}},
		"it has ended, and its driver is told":   {"Failed", false, []string{theirs, ourFinalizer}, is{false, true, true}},
		"it has ended":                           {"Succeeded", false, []string{ourFinalizer}, is{true, true, true}},
		"it has ended, and that is recorded":     {"Succeeded", false, nil, is{true, true, false}},
		"its driver is told, and it is recorded": {"Failed", false, []string{theirs}, is{false, true, true}},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Finalizers: tc.finalizers}}
		e.Status.ClaimStatus = tc.phase
		if tc.deleted {
			e.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		if diff := cmp.Diff(tc.want, is{over(e), ended(e), unsettled(e)}); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestWhenAnEventWasClaimedAndWhenItReachedItsTargets(t *testing.T) {
	for name, tc := range map[string]struct {
		so      func(*lifecyclev1alpha1.LifecycleEvent)
		claimed time.Time
		reached bool
	}{
		"both":                         {func(*lifecyclev1alpha1.LifecycleEvent) {}, epoch, true},
		"it waits again":               {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Pending }, time.Time{}, false},
		"it has ended":                 {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Failed }, epoch, false},
		"nothing is said":              {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.Conditions = nil }, time.Time{}, false},
		"not yet":                      {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.Conditions[1].Status = metav1.ConditionFalse }, epoch, false},
		"it was of the targets before": {func(e *lifecyclev1alpha1.LifecycleEvent) { e.Generation = 2 }, epoch, false},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
		e.Status.Conditions = []metav1.Condition{
			{Type: lifecyclev1alpha1.ConditionClaimable, LastTransitionTime: metav1.NewTime(epoch)},
			{Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionTrue, ObservedGeneration: 1},
		}
		tc.so(e)
		if got := claimedAt(e); !got.Equal(tc.claimed) {
			t.Errorf("%s: claimed at %s; want %s", name, got, tc.claimed)
		}
		if got := reached(e); got != tc.reached {
			t.Errorf("%s: reached: %t", name, got)
		}
	}
}

// A drain begins anew when its parameters change, and what somebody else has written is no
// reason to.
func TestParametersAreWrittenWhereTheyMeanSomethingElse(t *testing.T) {
	wanted := slipwayv1alpha1.DrainParameters{Hold: true}
	const same, other, broken = `{ "hold" : true }`, `{"hold":false}`, `{"hold":`
	for have, want := range map[string]string{same: same, other: `{"hold":true}`, broken: `{"hold":true}`, "": `{"hold":true}`} {
		e := &lifecyclev1alpha1.LifecycleEvent{}
		if have != "" {
			e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(have)}
		}
		setParameters(e, wanted)
		if got := string(e.Spec.Parameters.Raw); got != want {
			t.Errorf("%s became %s; want %s", have, got, want)
		}
	}
	e := &lifecyclev1alpha1.LifecycleEvent{}
	setParameters(e, slipwayv1alpha1.DrainParameters{})
	if e.Spec.Parameters == nil {
		t.Error("parameters that ask for nothing are not written")
	}
}

func TestForWhomAnEventIs(t *testing.T) {
	refs := []Ref{{UID: "a", Name: "blue"}}
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"app": "theirs"}}}
	setRefs(e, refs)
	if diff := cmp.Diff(refs, Refs(e)); diff != "" || e.Annotations["app"] != "theirs" {
		t.Errorf("annotations %v: -want +got:\n%s", e.Annotations, diff)
	}
	e.Annotations[slipwayv1alpha1.MaintenancesAnnotation] = `[ {"uid":"a", "name":"blue"} ]`
	setRefs(e, refs)
	if got := e.Annotations[slipwayv1alpha1.MaintenancesAnnotation]; !strings.HasPrefix(got, "[ ") {
		t.Errorf("what means the same was written anew: %s", got)
	}
	none := &lifecyclev1alpha1.LifecycleEvent{}
	setRefs(none, nil)
	if got := none.Annotations[slipwayv1alpha1.MaintenancesAnnotation]; got != "null" {
		t.Errorf("for nobody is written as %q", got)
	}
}

func TestWhyAnEventIsNotClaimed(t *testing.T) {
	c := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: kind + "Reason", Message: "m"}
	}
	for name, tc := range map[string]struct {
		have []metav1.Condition
		want cause
	}{
		"nobody has said":       {nil, cause{"Gated", "no agent has claimed LifecycleEvent e yet"}},
		"all is well":           {[]metav1.Condition{c("LeaseHeld", "True"), c("Claimable", "True")}, cause{"Gated", "no agent has claimed LifecycleEvent e yet"}},
		"it waits for its turn": {[]metav1.Condition{c("LeaseHeld", "True"), c("Claimable", "False")}, cause{"ClaimableReason", "m"}},
		"the lease comes first": {[]metav1.Condition{c("Claimable", "False"), c("GuardsPassed", "False"), c("LeaseHeld", "False")}, cause{"LeaseHeldReason", "m"}},
		"then the guards":       {[]metav1.Condition{c("Claimable", "False"), c("GuardsPassed", "False")}, cause{"GuardsPassedReason", "m"}},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
		e.Status.Conditions = tc.have
		if got := notClaimed(e); got != tc.want {
			t.Errorf("%s: got %v; want %v", name, got, tc.want)
		}
	}
}

func TestWhyADrainIsNoMore(t *testing.T) {
	finished := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: lifecyclev1alpha1.ConditionFinished, Status: "True", Reason: reason, Message: "m"}}
	}
	for name, tc := range map[string]struct {
		phase   lifecyclev1alpha1.ClaimStatus
		deleted bool
		have    []metav1.Condition
		want    cause
	}{
		"it was not held":           {"Succeeded", false, finished("Succeeded"), cause{"DrainCanceled", "a third party ended the drain: spec.parameters of LifecycleEvent e do not hold it"}},
		"it failed":                 {"Failed", false, finished("DriverFailed"), cause{"DrainFailed", "DriverFailed: m"}},
		"it failed, and is deleted": {"Failed", true, finished("DriverFailed"), cause{"DrainFailed", "DriverFailed: m"}},
		"it failed, without a word": {"SlaExpired", false, nil, cause{"DrainFailed", "SlaExpired"}},
		"it was canceled":           {"Failed", false, finished("Canceled"), cause{"DrainCanceled", "a third party deleted LifecycleEvent e"}},
		"it is deleted":             {"Claimed", true, nil, cause{"DrainCanceled", "a third party deleted LifecycleEvent e"}},
	} {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
		e.Status.ClaimStatus, e.Status.Conditions = tc.phase, tc.have
		if tc.deleted {
			e.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		if got := endOf(e); got != tc.want {
			t.Errorf("%s: got %v; want %v", name, got, tc.want)
		}
	}
}

// Who insists is answered ever more seldom.
func TestANodeThatSomebodyUncordonsIsCordonedAgain(t *testing.T) {
	stampOf := func(times string, ago time.Duration) string { return times + " " + stamp(epoch.Add(-ago)) }
	for name, tc := range map[string]struct {
		so   func(*out)
		have string // what the event says of earlier times
		want string
		wake time.Duration
	}{
		"the first time":                    {func(*out) {}, "", stampOf("1", 0), 0},
		"the second time, a minute later":   {func(*out) {}, stampOf("1", time.Minute), stampOf("2", 0), 0},
		"the second time, too early":        {func(*out) {}, stampOf("1", 59*time.Second), stampOf("1", 59*time.Second), time.Second},
		"the third time, after two minutes": {func(*out) {}, stampOf("2", 2*time.Minute), stampOf("3", 0), 0},
		"the third time, too early":         {func(*out) {}, stampOf("2", time.Minute), stampOf("2", time.Minute), time.Minute},
		"the hundredth time, after an hour": {func(*out) {}, stampOf("100", time.Hour), stampOf("101", 0), 0},
		"what cannot be read is none":       {func(*out) {}, stampOf("-1", 0), stampOf("1", 0), 0},
		"nor is a time that cannot be read": {func(*out) {}, "7 yesterday", stampOf("1", 0), 0},
		"nor a number":                      {func(*out) {}, stampOf("x", 0), stampOf("1", 0), 0},
		"it is cordoned":                    {func(o *out) { o.node.Spec.Unschedulable = true }, "", "", 0},
		"it was cordoned for another":       {func(o *out) { o.node.CordonedFor[0] = "other" }, "", "", 0},
		"its drain is not claimed":          {func(o *out) { o.drain.Status.ClaimStatus = lifecyclev1alpha1.Pending }, "", "", 0},
		"its drain has yet to see the last": {func(o *out) { o.drain.Generation = 2 }, "", "", 0},
	} {
		o := nodeOut()
		o.node.Spec.Unschedulable = false
		if tc.have != "" {
			o.drain.Annotations = map[string]string{AnnotationCordonedAgain: tc.have}
		}
		tc.so(o)
		p, n, _ := o.planned()
		changed := n.drain.DeepCopy()
		p.cordonAgain(n, changed)
		if got := changed.Annotations[AnnotationCordonedAgain]; got != tc.want {
			t.Errorf("%s: the event says %q; want %q", name, got, tc.want)
		}
		want := time.Time{}
		if tc.wake > 0 {
			want = epoch.Add(tc.wake)
		}
		if !p.alarm.next.Equal(want) {
			t.Errorf("%s: it wakes at %s; want %s", name, p.alarm.next, want)
		}
	}
}

func TestTargetsAreStirredEachTime(t *testing.T) {
	targets := []slipwayv1alpha1.DrainTarget{{PodType: "Default"}, {PodType: "DaemonSet"}}
	twice := []slipwayv1alpha1.DrainTarget{{PodType: "Default"}, {PodType: "Default"}, {PodType: "DaemonSet"}}
	for times, want := range map[string][]slipwayv1alpha1.DrainTarget{"0": targets, "1": twice, "2": targets, "3": twice} {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationCordonedAgain: times + " " + stamp(epoch)}}}
		got := alternated(e, targets)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s times: -want +got:\n%s", times, diff)
		}
		if diff := cmp.Diff(targets, distinct(got)); diff != "" {
			t.Errorf("%s times: they mean something else: -want +got:\n%s", times, diff)
		}
		if got := alternated(e, nil); len(got) > 0 {
			t.Errorf("%s times: of none, %v", times, got)
		}
	}
}

func TestSomeNamesAreNamed(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{[]string{"b", "a"}, "a, b"},
		{[]string{"e", "d", "c", "b", "a"}, "a, b, c, d, e"},
		{[]string{"f", "e", "d", "c", "b", "a"}, "a, b, c, d, e and 1 more"},
		{nil, ""},
	} {
		if got := some(tc.names); got != tc.want {
			t.Errorf("%v: got %q; want %q", tc.names, got, tc.want)
		}
	}
}

func TestWhatANodeSaysOfMaintenancesIsRead(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one", Annotations: map[string]string{}}}
	if got, err := RecordsOn(node); got != nil || err != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
	node.Annotations[slipwayv1alpha1.MaintenancesAnnotation] = `[{"uid":"a","state":"Done","at":"2026-05-01T12:00:00Z"}]`
	got, err := RecordsOn(node)
	if diff := cmp.Diff([]Record{{UID: "a", State: RecordDone, At: epoch}}, got); diff != "" || err != nil {
		t.Errorf("a record: %v, -want +got:\n%s", err, diff)
	}
	node.Annotations[slipwayv1alpha1.MaintenancesAnnotation] = "done"
	if _, err := RecordsOn(node); err == nil || !strings.HasPrefix(err.Error(), "read annotation slipway.dev/maintenances of node one: ") {
		t.Errorf("nonsense: %v", err)
	}
}
