// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// once are the steps of one pass.
func once(steps ...maintenance.Step) func(maintenance.Facts) maintenance.Decision {
	return func(maintenance.Facts) maintenance.Decision { return maintenance.Decision{Steps: steps} }
}

func (w *world) mustPass(t *testing.T) (due time.Time) {
	t.Helper()
	due, err := w.pass(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return due
}

// has says whether there is an object of that name and kind.
func (w *world) has(t *testing.T, o client.Object) bool {
	t.Helper()
	err := w.api.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// refusing refuses to create what has this name.
func refusing(name string, refusal error) interceptor.Funcs {
	return interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if o.GetName() == name {
			return refusal
		}
		return c.Create(ctx, o, options...)
	}}
}

func TestAStepThatFailsHoldsUpNoOther(t *testing.T) {
	nm := aMaintenance("m")
	tell := func(reason string) maintenance.Tell { return maintenance.Tell{About: nm, Reason: reason, Message: "x"} }
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "lifecycleevents"}, "a", errors.New("no right"))
	w := newWorld(t, once(
		maintenance.CreateEvent{Event: anEvent("a")}, tell("OfA"),
		maintenance.CreateEvent{Event: anEvent("b")}, tell("OfB"), tell("OfBAgain"),
	), refusing("a", refusal))
	clock := clocktesting.NewFakeClock(time.Now())
	w.failed.clock = clock
	if due := w.mustPass(t); !due.Equal(clock.Now().Add(failedBase)) {
		t.Errorf("what failed is tried again at %s", due)
	}
	if w.has(t, anEvent("a")) || !w.has(t, anEvent("b")) {
		t.Error("of two events, the one that is refused is to be missing")
	}
	if diff := cmp.Diff([]string{"m OfB x", "m OfBAgain x"}, w.told.all); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestAStepThatFailsIsTriedLessAndLessOften(t *testing.T) {
	tries := 0
	funcs := interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		tries++
		return apierrors.NewInternalError(errors.New("on fire"))
	}}
	w := newWorld(t, once(maintenance.CreateEvent{Event: anEvent("a")}), funcs)
	clock := clocktesting.NewFakeClock(time.Now())
	w.failed.clock = clock
	for range 600 { // a minute of changes
		w.mustPass(t)
		clock.Step(100 * time.Millisecond)
	}
	if tries != 8 { // after 0, .3, .8, 1.8, 3.8, 7.8, 15.8, 31.8 s
		t.Errorf("it was tried %d times in a minute", tries)
	}
}

func TestWhatTheAPIServerHasAgainstAJobIsAFact(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, tc := range map[string]struct {
		refusal error
		want    string
	}{
		"a right is missing, or a quota is in the way": {
			apierrors.NewForbidden(jobs, "j", errors.New("exceeded quota")),
			`create Job slipway-system-jobs/j: jobs.batch "j" is forbidden: exceeded quota`,
		},
		"a webhook does not answer": {
			apierrors.NewInternalError(errors.New("failed calling webhook")),
			"create Job slipway-system-jobs/j: Internal error occurred: failed calling webhook",
		},
		"the API server is busy, which passes": {apierrors.NewTooManyRequests("busy", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", Namespace: "slipway-system-jobs"}}
			var refused map[string]string
			w := newWorld(t, func(f maintenance.Facts) maintenance.Decision {
				refused = f.Refused
				return maintenance.Decision{Steps: []maintenance.Step{maintenance.CreateJob{Job: job}}}
			}, refusing("j", tc.refusal))
			w.mustPass(t)
			w.mustPass(t)
			want := map[string]string{}
			if tc.want != "" {
				want[maintenance.Key(maintenance.CreateJob{Job: job})] = tc.want
			}
			if diff := cmp.Diff(want, refused); diff != "" {
				t.Errorf("in the next facts (-want +got):\n%s", diff)
			}
		})
	}
}

// What is refused is shown as long as it is, and no longer.
func TestWhatIsInTheWayOfAnEventIsAFactUntilItIsGone(t *testing.T) {
	foreign := anEvent("a")
	foreign.Labels, foreign.Finalizers = nil, nil
	step := maintenance.CreateEvent{Event: anEvent("a")}
	var refused map[string]string
	w := newWorld(t, func(f maintenance.Facts) maintenance.Decision {
		refused = f.Refused
		return maintenance.Decision{Steps: []maintenance.Step{step}}
	}, interceptor.Funcs{}, foreign)
	clock := clocktesting.NewFakeClock(time.Now())
	w.failed.clock = clock
	shows := func(when string, want map[string]string) {
		t.Helper()
		w.mustPass(t)
		if diff := cmp.Diff(want, refused); diff != "" {
			t.Errorf("%s, the facts have (-want +got):\n%s", when, diff)
		}
	}
	inTheWay := map[string]string{maintenance.Key(step): "LifecycleEvent a exists, and belongs to no NodeMaintenance: delete it"}
	shows("before it is tried", map[string]string{})
	shows("when it is there", inTheWay)
	if err := w.api.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	shows("when it is gone, and it is not time yet", inTheWay)
	clock.Step(failedBase)
	shows("when it is tried again", inTheWay)
	shows("after that", map[string]string{})
}

func TestWhetherLeasesAreTakenIsAFact(t *testing.T) {
	for _, want := range []bool{true, false} {
		w := newWorld(t, nil, interceptor.Funcs{})
		w.Leases = want
		f, err := w.gather(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f.Leases != want {
			t.Errorf("it is %t, and the facts have %t", want, f.Leases)
		}
	}
}

func TestAStepHasAKeyOfItsOwn(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	keys := map[string]maintenance.Step{}
	for _, step := range []maintenance.Step{
		maintenance.CreateEvent{Event: anEvent("x")},
		maintenance.ChangeEvent{Seen: anEvent("x")},
		maintenance.DeleteEvent{Event: anEvent("x")},
		maintenance.CreateJob{Job: job},
		maintenance.DeleteJob{Job: job},
		maintenance.RecordOnNode{Node: "x"},
		maintenance.MarkNode{Node: "x"},
		maintenance.KeepAway{Node: "x"},
		maintenance.LetBack{Node: "x"},
		maintenance.Lift{Pod: maintenance.KeptPod{Namespace: "x", Name: "x"}},
		maintenance.ChangeMaintenance{Seen: aMaintenance("x")},
		maintenance.CreateEvent{Event: anEvent("y")},
		maintenance.RecordOnNode{Node: "y"},
	} {
		key := maintenance.Key(step)
		if other, taken := keys[key]; taken {
			t.Errorf("%T and %T are both %q", step, other, key)
		}
		keys[key] = step
	}
}

func TestAnObjectInTheWay(t *testing.T) {
	foreign := anEvent("a")
	foreign.Labels = nil
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "slipway-system-jobs", Name: "j", Labels: map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "work"},
	}}
	foreignJob := job.DeepCopy()
	foreignJob.Labels = nil
	for name, tc := range map[string]struct {
		there client.Object
		step  maintenance.Step
		want  string
	}{
		"is ours, and the watch is late": {anEvent("a"), maintenance.CreateEvent{Event: anEvent("a")}, errStale.Error()},
		"is somebody's":                  {foreign, maintenance.CreateEvent{Event: anEvent("a")}, "LifecycleEvent a exists, and belongs to no NodeMaintenance: delete it"},
		"is our Job":                     {job.DeepCopy(), maintenance.CreateJob{Job: job}, errStale.Error()},
		"is somebody's Job":              {foreignJob, maintenance.CreateJob{Job: job}, "Job j exists, and belongs to no NodeMaintenance: delete it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, once(), interceptor.Funcs{}, tc.there)
			if err := w.perform(t.Context(), nil, tc.step); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestWhatWasWrittenIsInTheNextFacts(t *testing.T) {
	held := anEvent("a")
	held.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"hold":true}`)}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n-uid", ResourceVersion: "1"}}
	w := newWorld(t, nil, interceptor.Funcs{}, held, aMaintenance("m"), node)
	w.reader = stale(t, w.api) // as a watch that shows nothing more
	facts := func() maintenance.Facts {
		f, err := w.gather(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	seen := facts()
	released := seen.Events[0].DeepCopy()
	released.Spec.Parameters.Raw = []byte(`{"hold":false}`)
	drained := seen.Maintenances[0].DeepCopy()
	drained.Finalizers = []string{slipwayv1alpha1.MaintenanceFinalizer}
	record := maintenance.Record{UID: "uid-of-m", State: maintenance.RecordDone, At: time.Unix(1000, 0).UTC()}
	nodes := map[string]*corev1.Node{"n": seen.Nodes[0].Node}
	for _, step := range []maintenance.Step{
		maintenance.CreateEvent{Event: anEvent("b")},
		maintenance.ChangeEvent{Seen: seen.Events[0], Changed: released},
		maintenance.ChangeMaintenance{Seen: seen.Maintenances[0], Changed: drained},
		maintenance.CreateJob{Job: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system-jobs", Name: "j", UID: "j-uid"}}},
		maintenance.RecordOnNode{Node: "n", Records: []maintenance.Record{record}},
	} {
		if err := w.perform(t.Context(), nodes, step); err != nil {
			t.Fatalf("%T: %v", step, err)
		}
	}
	written, err := w.nodes.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	written.ResourceVersion = "2" // the fake of Nodes has no versions
	w.written.nodes.Keep(written)
	f := facts()
	events := map[string]bool{}
	for _, e := range f.Events {
		text := ""
		if e.Spec.Parameters != nil {
			text = string(e.Spec.Parameters.Raw)
		}
		events[e.Name+" "+text] = true
	}
	if diff := cmp.Diff([]string{`a {"hold":false}`, "b "}, slices.Sorted(maps.Keys(events))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if len(f.Jobs) != 1 || len(f.Maintenances) != 1 || len(f.Maintenances[0].Finalizers) != 1 {
		t.Errorf("there are %d Jobs and the maintenances %v", len(f.Jobs), f.Maintenances)
	}
	if diff := cmp.Diff([]maintenance.Record{record}, f.Nodes[0].Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	// What was decided on before is not written once more.
	err = w.perform(t.Context(), nodes, maintenance.ChangeEvent{Seen: seen.Events[0], Changed: released})
	if !errors.Is(err, errStale) {
		t.Errorf("got %v; want that it has changed", err)
	}
}

// stale is what the API has now, for ever.
func stale(t *testing.T, api client.Client) client.Reader {
	t.Helper()
	var events lifecyclev1alpha1.LifecycleEventList
	var maintenances slipwayv1alpha1.NodeMaintenanceList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&events, &maintenances, &nodes} {
		if err := api.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	return interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			switch l := list.(type) {
			case *lifecyclev1alpha1.LifecycleEventList:
				events.DeepCopyInto(l)
			case *slipwayv1alpha1.NodeMaintenanceList:
				maintenances.DeepCopyInto(l)
			case *corev1.NodeList:
				nodes.DeepCopyInto(l)
			}
			return nil
		},
	})
}

func TestAStatusIsWrittenOnceASecond(t *testing.T) {
	nm := aMaintenance("m")
	n := int32(0)
	decide := func(maintenance.Facts) maintenance.Decision {
		n++
		return maintenance.Decision{Statuses: map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus{
			nm.UID: {Nodes: slipwayv1alpha1.MaintenanceNodeCounts{Selected: n}},
		}}
	}
	w := newWorld(t, decide, interceptor.Funcs{}, nm)
	clock := clocktesting.NewFakeClock(time.Now())
	w.Clock = clock
	var written []int32
	for range 11 {
		w.mustPass(t)
		var now slipwayv1alpha1.NodeMaintenance
		if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(nm), &now); err != nil {
			t.Fatal(err)
		}
		if selected := now.Status.Nodes.Selected; !slices.Contains(written, selected) {
			written = append(written, selected)
		}
		clock.Step(200 * time.Millisecond)
	}
	if diff := cmp.Diff([]int32{1, 6, 11}, written); diff != "" {
		t.Errorf("in passes (-want +got):\n%s", diff)
	}
	if due := w.mustPass(t); !due.Equal(clock.Now().Add(800 * time.Millisecond)) {
		t.Errorf("the next one is due at %s, now is %s", due, clock.Now())
	}
}

func TestRecordsThatCannotBeReadAreNone(t *testing.T) {
	for text, want := range map[string]int{
		"":                                   0,
		"[]":                                 0,
		`[{"uid":"u","state":"Done"}]`:       1,
		"{":                                  -1,
		`[{"uid":7}]`:                        -1,
		`[{"uid":"u","at":"half past ten"}]`: -1,
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{slipwayv1alpha1.MaintenancesAnnotation: text}}}
		records, err := maintenance.RecordsOn(node)
		if want < 0 != (err != nil) || len(records) != max(want, 0) {
			t.Errorf("%q: got %v, %v", text, records, err)
		}
	}
}
