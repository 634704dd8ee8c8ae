// SPDX-License-Identifier: Apache-2.0

package request

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// asker is a request by that name, and of a requester of that name.
func asker(name string) *evictionv1alpha1.EvictionRequest {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("r-" + name), Generation: 1}}
	r.Spec.Requester, r.Spec.Intent = "example.com/"+name, evictionv1alpha1.EvictionRequestIntentEviction
	return r
}

// theEviction is one, and how it stands.
func theEviction(name string, age time.Duration, how ...outcome) *evictionv1alpha1.Eviction {
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Generation: 1, CreationTimestamp: metav1.NewTime(epoch.Add(-age)),
	}}
	for _, o := range how {
		o.applyTo(&e.Status.Conditions, 1, epoch)
	}
	return e
}

// onePod are the facts of a pod for which one requester asks.
func onePod() Facts {
	return Facts{
		Target:   Target{Namespace: "ns", Name: "p", UID: uid("u1")},
		Pod:      &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: uid("u1")}},
		Requests: []*evictionv1alpha1.EvictionRequest{asker("a")},
	}
}

func owner(kind, version, name string) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: kind, APIVersion: version, Name: name, UID: types.UID("r-" + name)}
}

var requestVersion = evictionv1alpha1.SchemeGroupVersion.String()

func TestWhetherAnEvictionBegins(t *testing.T) {
	begun := theEviction("pod-1-p", 0, outcomeAwaited)
	begun.Status.TargetResponders = derive(onePod(), epoch).responders()
	settled := asker("a")
	settled.Status.ObservedGeneration = new(int64(1))
	outcomeEvicted(podGone(onePod().Target)).applyTo(&settled.Status.Conditions, 1, epoch)
	withdrawn := asker("a")
	withdrawn.Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
	for name, tc := range map[string]struct {
		so   func(*Facts)
		want bool
	}{
		"it is asked for":                   {func(*Facts) {}, true},
		"the pod is gone":                   {func(f *Facts) { f.Pod = nil }, false},
		"another pod has its name":          {func(f *Facts) { f.Pod.UID = uid("u2") }, false},
		"nobody wants it any more":          {func(f *Facts) { f.Requests[0] = withdrawn }, false},
		"whoever wants it is being deleted": {func(f *Facts) { f.Requests[0].DeletionTimestamp = &metav1.Time{} }, false},
		"all have been told how it ended":   {func(f *Facts) { f.Requests[0] = settled }, false},
		"one runs, and has no responders yet": {func(f *Facts) {
			f.Evictions = []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeAwaited)}
		}, true},
		"one runs, with its responders": {func(f *Facts) { f.Evictions = []*evictionv1alpha1.Eviction{begun} }, false},
		"the pod was evicted": {func(f *Facts) {
			f.Evictions = []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeEvicted(podGone(f.Target)))}
		}, false},
		"the last one failed, and it is asked for anew": {func(f *Facts) {
			f.Evictions = []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeNoResponder)}
		}, true},
	} {
		f := onePod()
		tc.so(&f)
		if got := f.Begins(epoch); got != tc.want {
			t.Errorf("%s: it begins: %t", name, got)
		}
	}
}

// What has ended is not done again, unless somebody asks anew; a pod that is gone stays gone.
func TestWithWhichEvictionItIsOver(t *testing.T) {
	evicted := outcomeEvicted(podGone(onePod().Target))
	deleted := theEviction("pod-9-p", 0, outcomeNoResponder)
	deleted.DeletionTimestamp = &metav1.Time{Time: epoch}
	for name, tc := range map[string]struct {
		told bool // the requester knows how it is
		all  []*evictionv1alpha1.Eviction
		want string
	}{
		"there is none":                        {false, nil, ""},
		"the pod was evicted, for another":     {false, []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, evicted)}, "pod-1-p"},
		"it failed, which the requester knows": {true, []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeNoResponder)}, ""},
		"the second one failed, too": {true, []*evictionv1alpha1.Eviction{
			theEviction("pod-1-p", time.Hour, outcomeNoResponder), theEviction("pod-2-p", 0, outcomeNoResponder),
		}, "pod-2-p"},
		"it failed, and another one asks":     {false, []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeNoResponder)}, ""},
		"one that should not have been there": {true, []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeSuperfluous)}, ""},
		"one that runs":                       {true, []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0, outcomeAwaited)}, ""},
		"one of which nothing is said yet":    {true, []*evictionv1alpha1.Eviction{theEviction("pod-1-p", 0)}, ""},
		"one that is being deleted":           {true, []*evictionv1alpha1.Eviction{deleted}, ""},
		"the newest of those that failed": {true, []*evictionv1alpha1.Eviction{
			theEviction("pod-2-p", time.Minute, outcomeNoResponder), theEviction("pod-1-p", time.Hour, outcomeNoResponder),
		}, "pod-2-p"},
		"the one that has evicted, whatever came later": {true, []*evictionv1alpha1.Eviction{
			theEviction("pod-2-p", time.Minute, outcomeNoResponder), theEviction("pod-1-p", time.Hour, evicted),
		}, "pod-1-p"},
	} {
		f := onePod()
		f.Evictions = tc.all
		if tc.told {
			f.Requests[0].Status.ObservedGeneration = new(int64(1))
		}
		got := ""
		if over := derive(f, epoch).over; over != nil {
			got = over.Name
		}
		if got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
}

func TestWhoIsStillToBeToldHowItEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		observed int64
		knows    *outcome
		want     bool
	}{
		"it was told":              {1, &outcomeNoResponder, false},
		"it was told that it runs": {1, &outcomeAwaited, true},
		"it was told nothing":      {1, nil, true},
		"it was told before":       {0, &outcomeNoResponder, true},
	} {
		r := asker("a")
		r.Status.ObservedGeneration = &tc.observed
		if tc.knows != nil {
			tc.knows.applyTo(&r.Status.Conditions, 1, epoch)
		}
		if got := unsettled(r); got != tc.want {
			t.Errorf("%s: it is to be told: %t", name, got)
		}
	}
}

func TestWhichRequestsAreInDoubt(t *testing.T) {
	const group = "ns.example.com/v1"
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		want   []string
	}{
		"its request is gone":                         {[]metav1.OwnerReference{owner("EvictionRequest", requestVersion, "gone")}, []string{"a", "gone"}},
		"another owner is none of ours to ask for":    {[]metav1.OwnerReference{owner("EvictionRequest", requestVersion, "gone"), owner("ConfigMap", "v1", "theirs")}, []string{"a", "gone"}},
		"another owner has the name of a request":     {[]metav1.OwnerReference{owner("EvictionRequest", requestVersion, "gone"), owner("ConfigMap", "v1", "a")}, []string{"a", "gone"}},
		"only another owner":                          {[]metav1.OwnerReference{owner("ConfigMap", "v1", "theirs")}, nil},
		"another kind of the same group":              {[]metav1.OwnerReference{owner("Eviction", requestVersion, "theirs")}, nil},
		"the same kind of another group":              {[]metav1.OwnerReference{owner("EvictionRequest", group, "theirs")}, nil},
		"the same kind, in another version of itself": {[]metav1.OwnerReference{owner("EvictionRequest", evictionv1alpha1.GroupName+"/v1", "gone")}, []string{"a", "gone"}},
	} {
		f := onePod()
		e := theEviction("pod-1-p", 0, outcomeAwaited)
		e.OwnerReferences = tc.owners
		f.Evictions = []*evictionv1alpha1.Eviction{e}
		if diff := cmp.Diff(tc.want, derive(f, epoch).doubtful()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestANameIsTheFirstThatIsFree(t *testing.T) {
	for name, tc := range map[string]struct {
		taken []string
		pod   string
		want  string
	}{
		"none is taken":                 {nil, "p", "pod-1-p"},
		"after the highest":             {[]string{"pod-7-p", "pod-3-p"}, "p", "pod-8-p"},
		"names of others do not count":  {[]string{"77-p", "theirs-12-p", "pod-x-p", "pod-"}, "p", "pod-1-p"},
		"nor numbers that are none":     {[]string{"pod-99999999999999999999-p", "pod--5-p"}, "p", "pod-1-p"},
		"the longest that fits":         {nil, strings.Repeat("p", 247), "pod-1-" + strings.Repeat("p", 247)},
		"one more is cut":               {nil, strings.Repeat("p", 248), "pod-1-" + strings.Repeat("p", 247)},
		"it does not end with a dot":    {nil, strings.Repeat("p", 246) + ".p", "pod-1-" + strings.Repeat("p", 246)},
		"it does not end with dashes":   {nil, strings.Repeat("p", 245) + "--p", "pod-1-" + strings.Repeat("p", 245)},
		"a name of two parts is no cut": {nil, strings.Repeat("p", 240) + ".p", "pod-1-" + strings.Repeat("p", 240) + ".p"},
	} {
		f := onePod()
		f.Target.Name, f.Taken = tc.pod, tc.taken
		if got := derive(f, epoch).newEviction().Name; got != tc.want {
			t.Errorf("%s: got %s; want %s", name, got, tc.want)
		}
	}
}

func TestLabelsAndOwnersOfOthersStay(t *testing.T) {
	f := onePod()
	f.Requests = []*evictionv1alpha1.EvictionRequest{asker("b"), asker("a")}
	f.Pod.Annotations = map[string]string{AnnotationResponders: "example.com/late:2000"}
	e := theEviction("pod-1-p", 0)
	e.Labels = map[string]string{
		"app": "shop", "example.com/gone": "requester", "example.com/went": "requester-responder",
	}
	before := maps.Clone(e.Labels)
	e.OwnerReferences = []metav1.OwnerReference{
		owner("ConfigMap", "v1", "theirs"), owner("EvictionRequest", requestVersion, "gone"),
	}
	e.Status.TargetResponders = []evictionv1alpha1.TargetResponder{{Name: "example.com/a"}, {Name: Evictor}}
	step, ok := derive(f, epoch).drive(e).Step.(Adopt)
	if !ok {
		t.Fatal("it is not adopted")
	}
	if diff := cmp.Diff(map[string]string{
		"app": "shop", "example.com/a": "requester-responder", "example.com/b": "requester", Evictor: "responder",
	}, step.Labels); diff != "" {
		t.Errorf("labels: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{
		owner("ConfigMap", "v1", "theirs"), owner("EvictionRequest", requestVersion, "a"), owner("EvictionRequest", requestVersion, "b"),
	}, step.Owners); diff != "" {
		t.Errorf("owners: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, e.Labels); diff != "" {
		t.Errorf("the Eviction itself was changed: -want +got:\n%s", diff)
	}
}

// The first who is to be told does not depend on the order in which a cache lists them.
func TestRequestersAreToldInTheOrderOfTheirNames(t *testing.T) {
	f := onePod()
	f.Requests = []*evictionv1alpha1.EvictionRequest{asker("c"), asker("a"), asker("b")}
	if got := derive(f, epoch).report(outcomeAwaited).(WriteRequest).Request.Name; got != "a" {
		t.Errorf("%s is told first; want a", got)
	}
}

func TestWhatARequesterWants(t *testing.T) {
	withdrawn := func(name, requester string) *evictionv1alpha1.EvictionRequest {
		r := asker(name)
		r.Spec.Requester, r.Spec.Intent = requester, evictionv1alpha1.EvictionRequestIntentWithdrawn
		return r
	}
	second := asker("x")
	second.Spec.Requester = "example.com/a"
	for name, tc := range map[string]struct {
		requests []*evictionv1alpha1.EvictionRequest
		before   []string
		want     []string
	}{
		"what it asks for": {[]*evictionv1alpha1.EvictionRequest{asker("a")}, nil, []string{"example.com/a Eviction"}},
		"it has withdrawn": {[]*evictionv1alpha1.EvictionRequest{withdrawn("a", "example.com/a")}, nil, []string{"example.com/a Withdrawn"}},
		"it is gone":       {nil, []string{"example.com/a"}, []string{"example.com/a Withdrawn"}},
		"it asks anew":     {[]*evictionv1alpha1.EvictionRequest{asker("a")}, []string{"example.com/a"}, []string{"example.com/a Eviction"}},
		"of two requests, the first is withdrawn": {[]*evictionv1alpha1.EvictionRequest{withdrawn("a", "example.com/a"), second}, nil, []string{"example.com/a Eviction"}},
		"of two requests, the second is":          {[]*evictionv1alpha1.EvictionRequest{second, withdrawn("y", "example.com/a")}, nil, []string{"example.com/a Eviction"}},
	} {
		var before []evictionv1alpha1.Requester
		for _, name := range tc.before {
			before = append(before, evictionv1alpha1.Requester{Name: name, Intent: evictionv1alpha1.RequesterIntentEviction})
		}
		var got []string
		e := &evictionv1alpha1.Eviction{Status: evictionv1alpha1.EvictionStatus{Requesters: before}}
		for _, r := range derive(Facts{Requests: tc.requests}, epoch).requesters(e) {
			got = append(got, r.Name+" "+string(r.Intent))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestWhatIsNextOfATargetThatCannotBeEvicted(t *testing.T) {
	group := func(f *Facts) { f.Pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} }
	running := func(f *Facts) {
		e := theEviction("pod-1-p", 0, outcomeAwaited)
		e.Labels, e.OwnerReferences = derive(*f, epoch).labels(e), derive(*f, epoch).owners(e)
		f.Evictions = []*evictionv1alpha1.Eviction{e}
	}
	const refused = "TargetEvicted=False EvictionFailed, Failed=True EvictionInvalid (Target Pod p is part of a PodGroup; the eviction of such pods is not supported)"
	const nobody = "TargetEvicted=False EvictionFailed, Failed=True CanceledDueToNoRequesters (no requester wants the eviction)"
	for name, tc := range map[string]struct {
		so   []func(*Facts)
		want string
	}{
		"it is one of a group": {[]func(*Facts){group}, "tell a: " + refused},
		"it is one of a group, and somebody else has begun": {
			[]func(*Facts){group, running}, "write pod-1-p: example.com/a wants Eviction; " + refused,
		},
		"the requester had withdrawn before anything began": {[]func(*Facts){func(f *Facts) {
			f.Requests[0].Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
		}}, "tell a: " + nobody},
		"the requester had withdrawn before anything began, and the pod is gone": {[]func(*Facts){func(f *Facts) {
			f.Requests[0].Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
			f.Pod = nil
		}}, "tell a: " + nobody},
	} {
		f := onePod()
		for _, so := range tc.so {
			so(&f)
		}
		if diff := cmp.Diff(tc.want, describe(Next(f, epoch).Step)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestTurnsAreTakenInOrderHoweverTheyAreListed(t *testing.T) {
	all := []evictionv1alpha1.TargetResponder{
		{Name: "example.com/none"}, {Name: "example.com/low", Priority: new(int32(1000))}, {Name: "example.com/high", Priority: new(int32(9000))},
	}
	if diff := cmp.Diff([]int{2, 1, 0}, inTurnOf(all)); diff != "" {
		t.Errorf("indexes: -want +got:\n%s", diff)
	}
	var got []string
	for _, r := range InTurn(all) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"example.com/high", "example.com/low", "example.com/none"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if all[0].Name != "example.com/none" {
		t.Error("the list itself was sorted")
	}
}

// A responder that somebody else has listed has priority nothing, or even less than that.
func TestAResponderWithoutAPriorityComesLast(t *testing.T) {
	none, zero := evictionv1alpha1.TargetResponder{Name: "a"}, evictionv1alpha1.TargetResponder{Name: "b", Priority: new(int32(0))}
	if inTurn(zero, none) >= 0 || inTurn(none, zero) <= 0 {
		t.Error("it does not come after one with priority 0")
	}
}

func TestAnEvictionWithoutAnActiveResponderHasFailed(t *testing.T) {
	e := theEviction("pod-1-p", 0, outcomeAwaited)
	e.Status.TargetResponders = []evictionv1alpha1.TargetResponder{{Name: "example.com/a", State: evictionv1alpha1.ResponderStateCompleted}}
	status, wake := derive(onePod(), epoch).turned(e)
	if !final(status.Conditions) || !wake.IsZero() {
		t.Errorf("got %s, until %s", conditionsText(status.Conditions), wake)
	}
}

func TestWhenAResponderWasHeardOf(t *testing.T) {
	start, beat := metav1.NewTime(epoch.Add(-time.Hour)), metav1.NewTime(epoch.Add(-time.Minute))
	for name, tc := range map[string]struct {
		own  evictionv1alpha1.ResponderStatus
		want time.Time
	}{
		"never":                {evictionv1alpha1.ResponderStatus{}, time.Time{}},
		"when it had its turn": {evictionv1alpha1.ResponderStatus{StartTime: &start}, start.Time},
		"by its heartbeat":     {evictionv1alpha1.ResponderStatus{StartTime: &start, HeartbeatTime: &beat}, beat.Time},
	} {
		if got := heartbeat(&tc.own, epoch); !got.Equal(tc.want) {
			t.Errorf("%s: got %s; want %s", name, got, tc.want)
		}
	}
}

// The server lets no time be before another one, and its clock may be faster than ours.
func TestATimeIsNotBeforeAnEarlierOne(t *testing.T) {
	now := epoch.Add(1500 * time.Millisecond)
	for ahead, want := range map[time.Duration]time.Duration{-time.Hour: time.Second, 0: time.Second, time.Second: time.Second, time.Minute: time.Minute} {
		earlier := metav1.NewTime(epoch.Add(ahead))
		if got := notBefore(&earlier, now).Sub(epoch); got != want {
			t.Errorf("earlier was at %s: got %s; want %s", ahead, got, want)
		}
	}
	if got := notBefore(nil, now).Sub(epoch); got != time.Second {
		t.Errorf("without one before: got %s; want 1s", got)
	}
}

func TestHowAnEvictionStandsOfWhichNothingIsSaid(t *testing.T) {
	e := theEviction("pod-1-p", 0)
	if got := outcomeOf(e); got != outcomeAwaited {
		t.Errorf("got %+v; want that it is awaited", got)
	}
	if superfluous(e) {
		t.Error("it is superfluous")
	}
}

func TestAPodWithoutAnAnnotationHasNoRespondersOfItsOwn(t *testing.T) {
	if all, err := RespondersOf(&corev1.Pod{}); len(all) > 0 || err != nil {
		t.Errorf("got %v, %v", all, err)
	}
}
