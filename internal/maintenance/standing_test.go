// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

func TestWhereANodeIsForARollout(t *testing.T) {
	for name, tc := range map[string]struct {
		so   func(*out)
		want rollout.State
	}{
		"it is out":                       {func(*out) {}, rollout.Out},
		"it waits":                        {func(o *out) { o.gone() }, rollout.Waiting},
		"it is out, and its work is done": {func(o *out) { o.recorded(RecordDone, nil) }, rollout.Out},
		"its work is done, and somebody put it back": {func(o *out) { o.gone(); o.recorded(RecordDone, nil) }, rollout.Out},
		"it is back":                {func(o *out) { o.gone(); o.recorded(RecordReturned, nil) }, rollout.Returned},
		"it has failed, and is out": {func(o *out) { o.recorded(RecordFailed, nil) }, rollout.Failed},
		"it has failed, and is cordoned still": {func(o *out) {
			o.recorded(RecordFailed, func(r *Record) { r.Cordon = "drain-1" })
			o.gone()
		}, rollout.Failed},
		"it has failed, and is cordoned no more": {func(o *out) {
			o.recorded(RecordFailed, func(r *Record) { r.Cordon = "drain-0" })
			o.gone()
		}, rollout.FailedBack},
		"it has failed, before it is tried again": {func(o *out) {
			o.gone()
			o.recorded(RecordFailed, nil)
			o.m.Spec.Retry = 1
		}, rollout.Waiting},
		"it gave way, to one that is still out": {func(o *out) {
			o.recorded(RecordHeldBack, func(r *Record) { r.Behind = "drain-1" })
			o.refs[0].UID = o.other.UID
		}, rollout.HeldBack},
		"it gave way, and the others have ended": {func(o *out) {
			o.gone()
			o.recorded(RecordHeldBack, func(r *Record) { r.Behind = "drain-9" })
		}, rollout.Waiting},
	} {
		o := nodeOut()
		tc.so(o)
		_, n, m := o.look()
		if got := n.stateFor(m); got != tc.want {
			t.Errorf("%s: got %v; want %v", name, got, tc.want)
		}
	}
}

func TestWhatARolloutIsToldOfANode(t *testing.T) {
	waiting := func(change func(*rollout.Node)) []rollout.Node {
		n := rollout.Node{Name: "one", State: rollout.Waiting}
		if change != nil {
			change(&n)
		}
		return []rollout.Node{n}
	}
	isDown := func(n *rollout.Node) { n.Down = true }
	free := func(o *out) { o.gone(); o.node.CordonedFor, o.node.Spec.Unschedulable = nil, false }
	controlPlane := func(o *out) { o.node.Labels[labelControlPlane] = "" }
	for name, tc := range map[string]struct {
		so   []func(*out)
		want []rollout.Node
		out  []string // of the control plane
	}{
		"it waits":             {[]func(*out){free}, waiting(nil), nil},
		"it is in a domain":    {[]func(*out){free, func(o *out) { o.m.Spec.Rollout.TopologyKey = "zone" }}, waiting(func(n *rollout.Node) { n.Domain = "a" }), nil},
		"it is not Ready":      {[]func(*out){free, func(o *out) { o.node.Status.Conditions = nil }}, waiting(isDown), nil},
		"it has budgets":       {[]func(*out){free, func(o *out) { o.node.Budgets = []string{"shop/cart"} }}, waiting(func(n *rollout.Node) { n.Budgets = []string{"shop/cart"} }), nil},
		"it is out for others": {[]func(*out){func(o *out) { o.refs[0].UID = o.other.UID }}, waiting(isDown), nil},
		"it is cordoned for others, and its drain is no more": {[]func(*out){func(o *out) { o.gone() }}, waiting(isDown), nil},
		"it is out for this one":                              {nil, waiting(func(n *rollout.Node) { n.State = rollout.Out }), nil},
		"it is one of the control plane":                      {[]func(*out){free, controlPlane}, waiting(func(n *rollout.Node) { n.ControlPlane = true }), nil},
		"one of the control plane is out": {[]func(*out){controlPlane}, waiting(func(n *rollout.Node) {
			n.State, n.ControlPlane = rollout.Out, true
		}), []string{"one"}},
		"one of the control plane is not Ready": {[]func(*out){free, controlPlane, func(o *out) { o.node.Status.Conditions = nil }}, waiting(func(n *rollout.Node) {
			n.Down, n.ControlPlane = true, true
		}), []string{"one"}},
		"one of the control plane is cordoned for a drain that is no more": {[]func(*out){controlPlane, func(o *out) { o.gone() }}, waiting(func(n *rollout.Node) {
			n.Down, n.ControlPlane = true, true
		}), []string{"one"}},
		"it is not selected, and not out": {[]func(*out){free, func(o *out) { o.node.Labels["elsewhere"] = "" }}, nil, nil},
		"it is not selected any more, and out": {[]func(*out){func(o *out) { o.node.Labels["elsewhere"] = "" }}, waiting(func(n *rollout.Node) {
			n.State = rollout.Out
		}), nil},
		"it is not selected any more, and cordoned still": {[]func(*out){func(o *out) {
			o.gone()
			o.node.Labels["elsewhere"] = ""
			o.recorded(RecordReturned, func(r *Record) { r.Cordon = "drain-1" })
		}}, waiting(func(n *rollout.Node) { n.State, n.Down = rollout.Out, true }), nil},
	} {
		o := nodeOut()
		for _, so := range tc.so {
			so(o)
		}
		p, _, m := o.look()
		got := p.rolloutFacts(m)
		if diff := cmp.Diff(tc.want, got.Nodes); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.out, got.ControlPlaneOut); diff != "" {
			t.Errorf("%s: of the control plane: -want +got:\n%s", name, diff)
		}
	}
}

func TestHowManyPodsArePendingSinceAMaintenanceBegan(t *testing.T) {
	at := func(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }
	began := []slipwayv1alpha1.MaintenanceStageStatus{{Name: slipwayv1alpha1.StageDrain, StartTimestamp: metav1.NewTime(epoch)}}
	for name, tc := range map[string]struct {
		so   func(*slipwayv1alpha1.NodeMaintenance)
		want int
		asks bool
	}{
		"those since it began":  {func(*slipwayv1alpha1.NodeMaintenance) {}, 2, true},
		"it has not begun":      {func(m *slipwayv1alpha1.NodeMaintenance) { m.Status.StageStatuses = nil }, 0, true},
		"it began only to idle": {func(m *slipwayv1alpha1.NodeMaintenance) { m.Status.StageStatuses[0].Name = slipwayv1alpha1.StageIdle }, 0, true},
		"its window opens later": {func(m *slipwayv1alpha1.NodeMaintenance) {
			m.Spec.Window = &slipwayv1alpha1.MaintenanceWindow{NotBefore: &metav1.Time{Time: at(1)}}
		}, 1, true},
		"nobody is to count them": {func(m *slipwayv1alpha1.NodeMaintenance) { m.Spec.Rollout.MaxPendingPods = new(int32(0)) }, 0, false},
		"some are allowed":        {func(m *slipwayv1alpha1.NodeMaintenance) { m.Spec.Rollout.MaxPendingPods = new(int32(1)) }, 2, true},
	} {
		o := nodeOut()
		o.m.Status.StageStatuses = append([]slipwayv1alpha1.MaintenanceStageStatus{}, began...)
		o.facts.NotReady = []NotReadyPod{{Name: "a", Created: at(-1)}, {Name: "b", Created: at(0)}, {Name: "c", Created: at(1)}}
		tc.so(o.m)
		p, _, m := o.look()
		if got := p.rolloutFacts(m).PendingPods; got != tc.want {
			t.Errorf("%s: got %d; want %d", name, got, tc.want)
		}
		if got := m.countsNotReady(); got != tc.asks {
			t.Errorf("%s: they are asked for: %t", name, got)
		}
	}
}

// A node that is out can be so for one more; on its way back it cannot.
func TestWhoMayJoinADrain(t *testing.T) {
	red := func(o *out) { o.other.Spec.Stage = slipwayv1alpha1.StageDrain }
	rolls := func(o *out) { o.other.Spec.Rollout = &slipwayv1alpha1.MaintenanceRollout{} }
	for name, tc := range map[string]struct {
		so   []func(*out)
		want bool
	}{
		"it is out":                                       {nil, true},
		"it is not out":                                   {[]func(*out){func(o *out) { o.gone() }}, false},
		"it is on its way back":                           {[]func(*out){func(o *out) { o.returning() }}, false},
		"its drain has ended":                             {[]func(*out){func(o *out) { o.drain.Status.ClaimStatus = lifecyclev1alpha1.Failed }}, false},
		"nobody needs it any more":                        {[]func(*out){func(o *out) { o.refs[0].Released = true }}, false},
		"a rollout joins one that is needed":              {[]func(*out){rolls}, true},
		"a rollout does not keep out what is done":        {[]func(*out){rolls, func(o *out) { o.recorded(RecordDone, nil) }}, false},
		"the word that the work is done is for the other": {[]func(*out){func(o *out) { o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""} }}, false},
		"the word was heard": {[]func(*out){func(o *out) {
			o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""}
			o.recorded(RecordDone, nil)
		}}, true},
		"the word was heard, and a hook is waited for": {[]func(*out){func(o *out) {
			o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""}
			o.refs[0].Worked = epoch
		}}, true},
		"the word is of nobody's who works by hand": {[]func(*out){func(o *out) {
			o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""}
			o.m.Spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob}
		}}, true},
		"the word is of one who has no rollout": {[]func(*out){func(o *out) {
			o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""}
			o.m.Spec.Rollout = nil
		}}, true},
		"the word is of one who is gone": {[]func(*out){func(o *out) {
			o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""}
			o.refs[0].UID = "gone"
		}}, true},
		"the word is of one who works no more": {[]func(*out){func(o *out) {
			o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: ""}
			o.m.Spec.Stage = slipwayv1alpha1.StageComplete
		}}, true},
	} {
		o := nodeOut()
		red(o)
		for _, so := range tc.so {
			so(o)
		}
		p, n, _ := o.look()
		if got := p.joinable(n, p.byUID[o.other.UID]); got != tc.want {
			t.Errorf("%s: it may join: %t", name, got)
		}
	}
}

func TestWhatANodeIsToAMaintenance(t *testing.T) {
	window := func(how slipwayv1alpha1.AtDeadline) func(*out) {
		return func(o *out) {
			o.m.Spec.Window = &slipwayv1alpha1.MaintenanceWindow{Deadline: &metav1.Time{Time: epoch}, AtDeadline: how}
		}
	}
	for name, tc := range map[string]struct {
		so   []func(*out)
		want want
	}{
		"its drain goes on":                 {nil, needs},
		"its work is done":                  {[]func(*out){func(o *out) { o.recorded(RecordDone, nil) }}, done},
		"it has failed":                     {[]func(*out){func(o *out) { o.recorded(RecordFailed, nil) }}, needs},
		"the maintenance is gone":           {[]func(*out){func(o *out) { o.refs[0].UID = "gone" }}, leaves},
		"it is selected no more":            {[]func(*out){func(o *out) { o.node.Labels["elsewhere"] = "" }}, leaves},
		"nothing is to be done any more":    {[]func(*out){func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageComplete }}, leaves},
		"the window is over, and drains go": {[]func(*out){window(slipwayv1alpha1.CancelAtDeadline)}, leaves},
		"the window is over":                {[]func(*out){window("")}, needs},
		"the window is not over":            {[]func(*out){window(slipwayv1alpha1.CancelAtDeadline), func(o *out) { o.now = epoch.Add(-1) }}, needs},
		"the window is over, and it is drained": {[]func(*out){window(slipwayv1alpha1.CancelAtDeadline), func(o *out) {
			o.reached(epoch.Add(-time.Minute))
		}}, needs},
		"the window is over, and its work is done, but for hooks": {[]func(*out){window(slipwayv1alpha1.CancelAtDeadline), func(o *out) {
			o.refs[0].Worked = epoch
		}}, needs},
		"the window is over, and its Job was seen": {[]func(*out){window(slipwayv1alpha1.CancelAtDeadline), func(o *out) {
			o.refs[0].Begun = true
		}}, needs},
		"it gives way": {[]func(*out){func(o *out) {
			o.recorded(RecordHeldBack, func(r *Record) { r.Event = "drain-1" })
		}}, leaves},
		"an earlier drain of its gave way": {[]func(*out){func(o *out) {
			o.recorded(RecordHeldBack, func(r *Record) { r.Event = "drain-0" })
		}}, needs},
		"it gave way before it was joined": {[]func(*out){func(o *out) {
			o.recorded(RecordHeldBack, func(r *Record) { r.Event = "drain-1" })
			o.refs[0].Since = epoch
		}}, needs},
		"it gives way, and somebody is paused": {[]func(*out){func(o *out) {
			o.recorded(RecordHeldBack, func(r *Record) { r.Event = "drain-1" })
			o.m.Spec.Paused = true
		}}, needs},
	} {
		o := nodeOut()
		for _, so := range tc.so {
			so(o)
		}
		p, n, _ := o.look()
		if got := p.claims[n.name][0].want; got != tc.want {
			t.Errorf("%s: got %v; want %v", name, got, tc.want)
		}
	}
}

func TestWhetherANodeIsNeededOut(t *testing.T) {
	for name, tc := range map[string]struct {
		so   func(*out)
		want bool
	}{
		"its drain goes on":                             {func(*out) {}, true},
		"it has failed, and is cordoned":                {func(o *out) { o.recorded(RecordFailed, nil) }, true},
		"it has failed before it was cordoned":          {func(o *out) { o.recorded(RecordFailed, nil); o.drain.Status.ClaimStatus = "" }, false},
		"it is done":                                    {func(o *out) { o.recorded(RecordDone, nil) }, false},
		"it is done, but it is paused":                  {func(o *out) { o.recorded(RecordDone, nil); o.m.Spec.Paused = true }, true},
		"it is paused, but it returns":                  {func(o *out) { o.m.Spec.Stage, o.m.Spec.Paused = slipwayv1alpha1.StageComplete, true }, false},
		"it is paused, but it is being deleted":         {func(o *out) { o.m.DeletionTimestamp, o.m.Spec.Paused = &metav1.Time{Time: epoch}, true }, false},
		"whoever needed it is gone":                     {func(o *out) { o.refs[0].UID = "gone" }, false},
		"of two, one is done":                           {func(o *out) { o.both(); o.recorded(RecordDone, nil) }, true},
		"of two, one is done and the other wants it no": {func(o *out) { o.both(); o.recorded(RecordDone, nil); o.other.Spec.Stage = slipwayv1alpha1.StageIdle }, false},
	} {
		o := nodeOut()
		tc.so(o)
		p, n, _ := o.look()
		if got := p.needed(n); got != tc.want {
			t.Errorf("%s: it is needed: %t", name, got)
		}
	}
}

// both has the node be out for the other one as well.
func (o *out) both() {
	o.other.Spec.Stage = slipwayv1alpha1.StageDrain
	o.refs = append(o.refs, Ref{UID: o.other.UID, Name: o.other.Name})
}

func TestWhatIsSaidBeforeANodeBegins(t *testing.T) {
	o := nodeOut()
	o.m.Status.StageStatuses = []slipwayv1alpha1.MaintenanceStageStatus{{Name: slipwayv1alpha1.StageDrain, StartTimestamp: metav1.NewTime(epoch)}}
	if _, err := Look(o.gather(), "nobody", epoch); err == nil || err.Error() != `the facts have no NodeMaintenance with UID "nobody"` {
		t.Errorf("of one that there is not: %v", err)
	}
	for name, tc := range map[string]struct {
		so   func(*out)
		of   types.UID
		want NodeOutlook
		why  string
	}{
		"it is out for it": {func(*out) {}, "blue-1", NodeOutlook{Selected: true, Ready: true}, ""},
		"it has failed, and is not Ready": {func(o *out) {
			o.recorded(RecordFailed, func(r *Record) { r.Reason, r.Message = "JobFailed", "m" })
			o.node.Status.Conditions = nil
		}, "blue-1", NodeOutlook{Selected: true, Reason: "JobFailed", Message: "m"}, ""},
		"its work is done": {func(o *out) {
			o.recorded(RecordDone, func(r *Record) { r.Reason, r.Message = "None", "m" })
		}, "blue-1", NodeOutlook{Selected: true, Ready: true}, ""},
		"it is selected no more": {func(o *out) { o.node.Labels["elsewhere"] = "" }, "blue-1", NodeOutlook{Ready: true}, ""},
		"it is out for another": {func(o *out) {
			o.other.Spec.Stage, o.other.Spec.Rollout = slipwayv1alpha1.StageDrain, &slipwayv1alpha1.MaintenanceRollout{}
		}, "red-1", NodeOutlook{
			Selected: true, Ready: true, Others: []string{"blue"},
		}, ""},
		"it is further for another": {func(o *out) {
			o.other.Spec.Stage = slipwayv1alpha1.StageDrain
			o.other.Spec.DrainPlan = []slipwayv1alpha1.DrainTarget{{PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(10))}}
		}, "red-1", NodeOutlook{Selected: true, Ready: true, Others: []string{"blue"}, Ahead: true}, ""},
		"an older one takes it up first": {func(o *out) {
			o.gone()
			o.node.CordonedFor = nil
			o.m.CreationTimestamp = metav1.NewTime(epoch.Add(-2 * time.Hour))
			o.other.Spec.Stage = slipwayv1alpha1.StageDrain
		}, "red-1", NodeOutlook{Selected: true, Ready: true, Others: []string{"blue"}}, ""},
		"none may begin": {func(o *out) {}, "red-1", NodeOutlook{Selected: true, Ready: true, Others: []string{"blue"}, Ahead: true}, "Idle: the stage is Idle"},
	} {
		o := nodeOut()
		tc.so(o)
		got, err := Look(o.gather(), tc.of, epoch)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got.Nodes["one"]); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if why := got.Reason + ": " + got.Message; tc.why != "" && why != tc.why || tc.why == "" && why != ": " {
			t.Errorf("%s: why none begins: %q; want %q", name, why, tc.why)
		}
	}
}

func TestWhatTheLastStepOfAPlanAsksFor(t *testing.T) {
	m := maintenanceOfAll("blue")
	m.Spec.DrainPlan = []slipwayv1alpha1.DrainTarget{{PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(10))}}
	want := slipwayv1alpha1.DrainParameters{Targets: drainplan.Complete(m.Spec.DrainPlan)}
	want.APIVersion, want.Kind = "slipway.dev/v1alpha1", "DrainParameters"
	if diff := cmp.Diff(want, Asked(m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ladder := &slipwayv1alpha1.DrainEscalation{DeleteAfter: &metav1.Duration{Duration: time.Hour}}
	m.Spec.Drain = &slipwayv1alpha1.MaintenanceDrain{
		GracePeriodSeconds: new(int64(7)), Timeout: &metav1.Duration{Duration: time.Hour}, Escalation: ladder,
	}
	want.GracePeriodSeconds, want.Escalation = new(int64(7)), ladder
	if diff := cmp.Diff(want, Asked(m)); diff != "" {
		t.Errorf("with how pods leave: -want +got:\n%s", diff)
	}
}

func TestWhichNodesThatAreOutAPodFits(t *testing.T) {
	taint := func(key string, effect corev1.TaintEffect) func(*out) {
		return func(o *out) { o.node.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	for name, tc := range map[string]struct {
		so   func(*out)
		want bool
	}{
		"it is out":                   {func(*out) {}, true},
		"it is not out":               {func(o *out) { o.gone() }, false},
		"it is on its way back":       {func(o *out) { o.returning(); o.drain = nil }, true},
		"it is cordoned by its taint": {taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule), true},
		"it keeps pods out":           {taint("gpu", corev1.TaintEffectNoSchedule), false},
		"it has pods leave":           {taint("gpu", corev1.TaintEffectNoExecute), false},
		"it would rather not":         {taint("gpu", corev1.TaintEffectPreferNoSchedule), true},
		"it is in another pool":       {func(o *out) { o.node.Labels["zone"] = "b" }, false},
	} {
		o := nodeOut()
		tc.so(o)
		p, _, _ := o.look()
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{"zone": "a"}}}
		if got := len(p.fits(pod)) > 0; got != tc.want {
			t.Errorf("%s: it fits: %t", name, got)
		}
	}
}
