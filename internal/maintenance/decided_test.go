// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// blocked has a budget refuse all that the drain has left.
func (o *out) blocked() {
	o.drain.Status.Progress = &lifecyclev1alpha1.Progress{Total: 3, Done: 1}
	for i, pod := range []string{"Pod shop/cart-0", "Pod shop/cart-1"} {
		o.drain.Status.Blockers = append(o.drain.Status.Blockers, lifecyclev1alpha1.Blocker{
			Object: pod, Reason: "BudgetExhausted", By: "PodDisruptionBudget shop/cart",
			Since: &metav1.Time{Time: epoch.Add(time.Duration(i) * time.Minute)},
		})
	}
	o.drain.Status.BlockersTotal = 2
}

// Nothing counts as a deadlock where anything moves, or may.
func TestWhatRefusesAllThatADrainHasLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		so   func(*out)
		want bool
	}{
		"a budget does":                         {func(*out) {}, true},
		"its drain has ended":                   {func(o *out) { o.drain.Status.ClaimStatus = lifecyclev1alpha1.Failed }, false},
		"its drain is deleted":                  {func(o *out) { o.drain.DeletionTimestamp = &metav1.Time{Time: epoch} }, false},
		"its drain is not claimed":              {func(o *out) { o.drain.Status.ClaimStatus = "" }, false},
		"its targets are reached":               {func(o *out) { o.reached(epoch) }, false},
		"what it says is of earlier parameters": {func(o *out) { o.drain.Generation = 2 }, false},
		"it does not say how far it is":         {func(o *out) { o.drain.Status.Progress = nil }, false},
		"nothing blocks":                        {func(o *out) { o.drain.Status.Blockers = nil }, false},
		"nothing blocks, and nothing is left": {func(o *out) {
			o.drain.Status.Blockers, o.drain.Status.BlockersTotal, o.drain.Status.Progress.Done = nil, 0, 3
		}, false},
		"another pod is on its way":                 {func(o *out) { o.drain.Status.Progress.Done = 0 }, false},
		"more blocks than is listed":                {func(o *out) { o.drain.Status.BlockersTotal, o.drain.Status.Progress.Total = 3, 4 }, false},
		"something else blocks one of them":         {func(o *out) { o.drain.Status.Blockers[1].Reason = "LocalStorage" }, false},
		"somebody else refuses one of them":         {func(o *out) { o.drain.Status.Blockers[1].By = "Webhook x" }, false},
		"nobody knows since when one of them waits": {func(o *out) { o.drain.Status.Blockers[1].Since = nil }, false},
	} {
		o := nodeOut()
		o.blocked()
		tc.so(o)
		var want []string
		since := time.Time{}
		if tc.want {
			want, since = []string{"shop/cart"}, epoch.Add(time.Minute)
		}
		got, at := refusedBy(o.drain)
		if diff := cmp.Diff(want, got); diff != "" || !at.Equal(since) {
			t.Errorf("%s: since %s; -want +got:\n%s", name, at, diff)
		}
	}
}

func TestWhichNodeMayGiveWay(t *testing.T) {
	type is struct{ Refused, MayGiveWay, ComesBack bool }
	nothing, may := is{ComesBack: true}, is{true, true, true}
	held := func(change func(*Record)) func(*out) {
		return func(o *out) {
			o.recorded(RecordHeldBack, func(r *Record) {
				r.Event, r.Times = "drain-0", MaxGivesWay-1
				change(r)
			})
		}
	}
	for name, tc := range map[string]struct {
		so   func(*out)
		want is
	}{
		"its drain is blocked":                 {func(*out) {}, may},
		"it is on its way back":                {func(o *out) { o.returning() }, nothing},
		"it has no drain":                      {func(o *out) { o.returning(); o.drain = nil }, nothing},
		"nobody needs it any more":             {func(o *out) { o.refs[0].Released = true }, nothing},
		"it gives way already":                 {held(func(r *Record) { r.Event = "drain-1" }), nothing},
		"its drain is not blocked":             {func(o *out) { o.drain.Status.Blockers = nil }, is{false, true, true}},
		"it gave way once":                     {held(func(*Record) {}), may},
		"it gave way often enough":             {held(func(r *Record) { r.Times = MaxGivesWay }), is{true, false, true}},
		"it gave way often, before a retry":    {func(o *out) { held(func(r *Record) { r.Times = MaxGivesWay })(o); o.m.Spec.Retry = 1 }, may},
		"it was cordoned before":               {func(o *out) { o.node.CordonedBefore = true }, is{true, false, true}},
		"it is cordoned for another drain too": {func(o *out) { o.node.CordonedFor = append(o.node.CordonedFor, "other") }, is{true, false, true}},
		"it is not cordoned":                   {func(o *out) { o.node.CordonedFor = nil }, is{true, false, true}},
		"its maintenance is paused":            {func(o *out) { o.m.Spec.Paused = true }, is{true, false, true}},
		"its maintenance only cordons":         {func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageCordon }, is{true, false, true}},
		"its maintenance is gone":              {func(o *out) { o.refs[0].UID = "gone" }, is{true, false, false}},
		"its work is done":                     {func(o *out) { o.recorded(RecordDone, nil) }, is{true, false, true}},
		"its Job was seen":                     {func(o *out) { o.refs[0].Begun = true }, is{true, false, true}},
		"it is selected no more":               {func(o *out) { o.node.Labels["elsewhere"] = "" }, is{true, false, true}},
		"its maintenance has no rollout":       {func(o *out) { o.m.Spec.Rollout = nil }, is{true, true, false}},
		"another one that it is for is paused": {func(o *out) { o.both(); o.other.Spec.Paused, o.other.Spec.Rollout = true, o.m.Spec.Rollout }, is{true, false, true}},
	} {
		o := nodeOut()
		o.blocked()
		tc.so(o)
		p, n, _ := o.look()
		got := p.inDeadlock(n)
		if diff := cmp.Diff(tc.want, is{got.Refused != nil, got.MayGiveWay, got.ComesBack}); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if got.Refused != nil && got.Gone != 1 {
			t.Errorf("%s: %d pods are gone; want 1", name, got.Gone)
		}
	}
}

func TestSinceWhenAPodFindsNoNode(t *testing.T) {
	for name, tc := range map[string]struct {
		c    corev1.PodCondition
		want bool
	}{
		"the scheduler says so":      {corev1.PodCondition{Type: corev1.PodScheduled, Status: "False", Reason: corev1.PodReasonUnschedulable}, true},
		"it is scheduled":            {corev1.PodCondition{Type: corev1.PodScheduled, Status: "True", Reason: corev1.PodReasonUnschedulable}, false},
		"it is gated":                {corev1.PodCondition{Type: corev1.PodScheduled, Status: "False", Reason: corev1.PodReasonSchedulingGated}, false},
		"it is something else of it": {corev1.PodCondition{Type: corev1.PodReady, Status: "False", Reason: corev1.PodReasonUnschedulable}, false},
	} {
		tc.c.LastTransitionTime = metav1.NewTime(epoch)
		pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{tc.c}}}
		if got := !unschedulableSince(pod).IsZero(); got != tc.want {
			t.Errorf("%s: it finds none: %t", name, got)
		}
	}
}

// A node gives way when its status has said why; with many nodes, the status as a whole.
func TestWhetherAStatusSaysWhyANodeGivesWay(t *testing.T) {
	full := make([]slipwayv1alpha1.MaintenanceNodeStatus, maxListed)
	progressing := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: slipwayv1alpha1.MaintenanceProgressing, Reason: reason}}
	}
	for name, tc := range map[string]struct {
		nodes      []slipwayv1alpha1.MaintenanceNodeStatus
		conditions []metav1.Condition
		want       bool
	}{
		"it does":                             {[]slipwayv1alpha1.MaintenanceNodeStatus{{Name: "one", Reason: "R"}}, nil, true},
		"it says something else of the node":  {[]slipwayv1alpha1.MaintenanceNodeStatus{{Name: "one", Reason: "S"}}, progressing("R"), false},
		"it says so of another node":          {[]slipwayv1alpha1.MaintenanceNodeStatus{{Name: "two", Reason: "R"}}, progressing("R"), false},
		"it has no room, and says so as such": {full, progressing("R"), true},
		"it has no room, and says other":      {full, progressing("S"), false},
		"it has no room, and says nothing":    {full, nil, false},
	} {
		m := &maintenance{NodeMaintenance: maintenanceOfAll("blue")}
		m.Status.NodeStatuses, m.Status.Conditions = tc.nodes, tc.conditions
		if got := m.reports("one", "R"); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWhatTheConditionsOfAMaintenanceSay(t *testing.T) {
	type counts = slipwayv1alpha1.MaintenanceNodeCounts
	type said struct{ Completed, Drained, Progressing string }
	const completes, idles = slipwayv1alpha1.StageComplete, slipwayv1alpha1.StageIdle
	for name, tc := range map[string]struct {
		so     func(*report)
		counts counts
		want   said
	}{
		"nodes wait": {func(*report) {}, counts{Selected: 3, Waiting: 3}, said{
			"False Running out of service: 0, waiting: 3", "False Draining drained: 0 of 3 nodes", "True Running ",
		}},
		"one is out": {func(*report) {}, counts{Selected: 3, Waiting: 2, Out: 1}, said{
			"False Running out of service: 1, waiting: 2", "False Draining drained: 0 of 3 nodes", "True Running ",
		}},
		"some are drained, some are back": {func(*report) {}, counts{Selected: 3, Out: 2, Drained: 2, Returned: 1}, said{
			"False Running out of service: 2, waiting: 0", "True Drained ", "True Running ",
		}},
		"all are back": {func(*report) {}, counts{Selected: 2, Returned: 2}, said{
			"True Completed returned: 2", "True Drained ", "False Completed ",
		}},
		"all are back, and wait for stage Complete": {func(m *report) { m.Spec.Rollout = nil }, counts{Selected: 2, Returned: 2}, said{
			"False Incomplete failed: 0, not begun: 0", "True Drained ", "False Incomplete failed: 0",
		}},
		"one has failed, the others are back": {func(*report) {}, counts{Selected: 2, Returned: 1, Failed: 1}, said{
			"False Incomplete failed: 1, not begun: 0", "False Draining drained: 1 of 2 nodes", "False Incomplete failed: 1",
		}},
		"its window is over": {func(m *report) { m.holdUp = cause{slipwayv1alpha1.ReasonWindowOver, "over"} }, counts{Selected: 2, Waiting: 1, Returned: 1}, said{
			"False Incomplete failed: 0, not begun: 1", "False Draining drained: 1 of 2 nodes", "False WindowOver over",
		}},
		"its window is over, and one is out": {func(m *report) { m.holdUp = cause{slipwayv1alpha1.ReasonWindowOver, "over"} }, counts{Selected: 2, Waiting: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 1", "False Draining drained: 0 of 2 nodes", "True Running over",
		}},
		"it waits for something else": {func(m *report) { m.holdUp = cause{"Held", "up"} }, counts{Selected: 2, Waiting: 2}, said{
			"False Running out of service: 0, waiting: 2", "False Draining drained: 0 of 2 nodes", "False Held up",
		}},
		"no node is selected": {func(*report) {}, counts{}, said{
			"False NoNodes spec.nodeSelector selects no node", "False NoNodes spec.nodeSelector selects no node", "False NoNodes spec.nodeSelector selects no node",
		}},
		"no node is selected any more, and one is out": {func(*report) {}, counts{Out: 1}, said{
			"False NoNodes spec.nodeSelector selects no node", "False NoNodes spec.nodeSelector selects no node", "True Running ",
		}},
		"it is in stage Idle": {func(m *report) { m.Spec.Stage = idles; m.holdUp = cause{"Idle", "idle"} }, counts{Selected: 1, Waiting: 1}, said{
			"False Idle ", "False Idle ", "False Idle idle",
		}},
		"it is in no stage": {func(m *report) { m.Spec.Stage = ""; m.holdUp = cause{"Idle", "idle"} }, counts{Selected: 1, Waiting: 1}, said{
			"False Idle ", "False Idle ", "False Idle idle",
		}},
		"it is in stage Cordon": {func(m *report) { m.Spec.Stage = slipwayv1alpha1.StageCordon }, counts{Selected: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 0", "False Idle ", "True Running ",
		}},
		"it is in stage Complete": {func(m *report) { m.Spec.Stage = completes; m.holdUp = cause{"Completed", "c"} }, counts{Selected: 4, Waiting: 1, Returned: 1, Failed: 2}, said{
			"True Completed no node is out of service; returned: 1, failed: 2, not begun: 1", "False Completed ", "False Completed ",
		}},
		"it is in stage Complete, and nothing is selected": {func(m *report) { m.Spec.Stage = completes; m.holdUp = cause{"Completed", "c"} }, counts{}, said{
			"True Completed no node is out of service; returned: 0, failed: 0, not begun: 0", "False NoNodes spec.nodeSelector selects no node", "False Completed ",
		}},
		"it is paused": {func(m *report) { m.Spec.Paused = true }, counts{Selected: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 0", "False Draining drained: 0 of 1 nodes", "False Paused spec.paused is true",
		}},
		"it is paused in stage Idle": {func(m *report) { m.Spec.Paused, m.Spec.Stage, m.holdUp = true, idles, cause{"Idle", "idle"} }, counts{Selected: 1, Waiting: 1}, said{
			"False Idle ", "False Idle ", "False Idle idle",
		}},
		"it is refused": {func(m *report) { m.refusal = cause{"Refused", "r"}; m.holdUp = m.refusal }, counts{Selected: 1, Waiting: 1}, said{
			"False Running out of service: 0, waiting: 1", "False Draining drained: 0 of 1 nodes", "False Refused r",
		}},
		"it is refused, and one is out": {func(m *report) { m.refusal = cause{"Refused", "r"}; m.holdUp = m.refusal }, counts{Selected: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 0", "False Draining drained: 0 of 1 nodes", "True Running r",
		}},
		"one of its nodes gives way": {func(m *report) { m.deadlock = cause{slipwayv1alpha1.ReasonDeadlockHeldBack, "d"} }, counts{Selected: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 0", "False Draining drained: 0 of 1 nodes", "True DeadlockHeldBack d",
		}},
		"its nodes wait for each other": {func(m *report) { m.deadlock = cause{slipwayv1alpha1.ReasonDeadlock, "d"} }, counts{Selected: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 0", "False Draining drained: 0 of 1 nodes", "False Deadlock d",
		}},
		"the rollout holds them back": {func(m *report) { m.rollout = rollout.Decision{Reason: "Limit", Message: "l"} }, counts{Selected: 1, Waiting: 1}, said{
			"False Running out of service: 0, waiting: 1", "False Draining drained: 0 of 1 nodes", "False Limit l",
		}},
		"the rollout holds others back": {func(m *report) { m.rollout = rollout.Decision{Reason: "Limit", Message: "l"} }, counts{Selected: 2, Waiting: 1, Out: 1}, said{
			"False Running out of service: 1, waiting: 1", "False Draining drained: 0 of 2 nodes", "True Running l",
		}},
		"the rollout begins one now": {func(m *report) {
			m.rollout = rollout.Decision{Reason: "Limit", Message: "l", Begin: []string{"one"}}
		}, counts{Selected: 2, Waiting: 2}, said{
			"False Running out of service: 0, waiting: 2", "False Draining drained: 0 of 2 nodes", "True Running l",
		}},
	} {
		o := nodeOut()
		o.gone()
		o.node.CordonedFor = nil
		p, _, m := o.planned()
		r := p.reportOn(m, nil)
		r.Spec.Stage = slipwayv1alpha1.StageDrain
		tc.so(&r)
		line := func(is bool, why cause) string {
			value := "False "
			if is {
				value = "True "
			}
			return value + why.reason + " " + why.message
		}
		completed, why := r.completed(tc.counts)
		got := said{Completed: line(completed, why), Drained: line(r.drainedAll(tc.counts)), Progressing: line(r.progressing(tc.counts, completed))}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// A Job that somebody may want to look at stays; one that nobody needs goes.
func TestWhichJobsAreDeleted(t *testing.T) {
	finished := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) func(*out, *batchv1.Job) {
		return func(_ *out, j *batchv1.Job) { finishJob(j, kind, "", ""); j.Status.Conditions[0].Status = status }
	}
	ends := finished(batchv1.JobComplete, "True")
	of := func(node string, uid types.UID) func(*out, *batchv1.Job) {
		return func(_ *out, j *batchv1.Job) {
			j.Annotations[annotationNode], j.Annotations[annotationMaintenance], j.Name = node, string(uid), JobName(node, uid, 0)
		}
	}
	known := nodeOut().m.UID
	for name, tc := range map[string]struct {
		so   []func(*out, *batchv1.Job)
		want bool
	}{
		"it is running":                {nil, false},
		"it has ended, nobody noted":   {[]func(*out, *batchv1.Job){ends}, false},
		"it has ended, and that noted": {[]func(*out, *batchv1.Job){ends, func(o *out, _ *batchv1.Job) { o.recorded(RecordDone, nil) }}, true},
		"it has failed":                {[]func(*out, *batchv1.Job){finished(batchv1.JobFailed, "True"), func(o *out, _ *batchv1.Job) { o.recorded(RecordFailed, nil) }}, false},
		"it has failed, and the maintenance goes": {[]func(*out, *batchv1.Job){finished(batchv1.JobFailed, "True"), func(o *out, _ *batchv1.Job) {
			o.m.DeletionTimestamp = &metav1.Time{Time: epoch}
		}}, true},
		"it has failed, and is tried again": {[]func(*out, *batchv1.Job){finished(batchv1.JobFailed, "True"), func(o *out, _ *batchv1.Job) { o.refs[0].Retry = 1 }}, true},
		"it has not failed yet":             {[]func(*out, *batchv1.Job){finished(batchv1.JobFailed, "False"), func(o *out, _ *batchv1.Job) { o.recorded(RecordDone, nil) }}, false},
		"its node is gone":                  {[]func(*out, *batchv1.Job){of("gone", known)}, true},
		"its Node is gone, its drain is not": {[]func(*out, *batchv1.Job){func(o *out, _ *batchv1.Job) {
			o.node.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "two"}}
		}}, true},
		"it runs, and nobody needs it": {[]func(*out, *batchv1.Job){func(o *out, _ *batchv1.Job) {
			o.refs[0].UID, o.m.Spec.Stage = o.other.UID, slipwayv1alpha1.StageComplete
		}}, true},
		"it runs, and is waited for":     {[]func(*out, *batchv1.Job){func(o *out, _ *batchv1.Job) { o.m.Spec.Stage = slipwayv1alpha1.StageComplete }}, false},
		"it runs, and the node was lost": {[]func(*out, *batchv1.Job){func(o *out, _ *batchv1.Job) { o.refs[0].UID = o.other.UID }}, false},
		"it is being deleted": {[]func(*out, *batchv1.Job){of("gone", known), func(_ *out, j *batchv1.Job) {
			j.DeletionTimestamp = &metav1.Time{Time: epoch}
		}}, false},
		"its maintenance is gone, and it is waited for": {[]func(*out, *batchv1.Job){of("one", "nobody"), func(o *out, _ *batchv1.Job) { o.refs[0].UID = "nobody" }}, false},
		"its maintenance is gone, and nobody needs it":  {[]func(*out, *batchv1.Job){of("one", "nobody")}, true},
		"its maintenance is gone, and it has ended":     {[]func(*out, *batchv1.Job){of("one", "nobody"), ends, func(o *out, _ *batchv1.Job) { o.refs[0].UID = "nobody" }}, true},
		"it is of nobody's": {[]func(*out, *batchv1.Job){func(_ *out, j *batchv1.Job) {
			j.Annotations[annotationNode], j.Annotations[annotationMaintenance] = "gone", "nobody"
		}}, false},
		"it has the labels alone": {[]func(*out, *batchv1.Job){ends, func(_ *out, j *batchv1.Job) { j.Annotations = nil }}, false},
		"it is a copy":            {[]func(*out, *batchv1.Job){of("gone", known), func(_ *out, j *batchv1.Job) { j.Name = "copy" }}, false},
		"it is a copy, and the maintenance of it is gone": {[]func(*out, *batchv1.Job){of("gone", "nobody"), func(_ *out, j *batchv1.Job) { j.Name = "copy" }}, false},
	} {
		o := nodeOut()
		o.m.Spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob, PodTemplate: "t"}
		o.facts.Templates = map[string]*corev1.PodTemplate{"t": {}}
		p, _, m := o.look()
		j := newJob("slipway-system-jobs", "one", m, o.refs[0], p.facts.Templates["t"])
		for _, so := range tc.so {
			so(o, j)
		}
		o.facts.Jobs = []*batchv1.Job{j}
		p, _, _ = o.look()
		if got := len(p.tidyJobs()) > 0; got != tc.want {
			t.Errorf("%s: it is deleted: %t", name, got)
		}
	}
}

func TestWhoIsStillCordonedAndGoesBack(t *testing.T) {
	failed := func(change func(*Record)) func(*out) {
		return func(o *out) {
			o.recorded(RecordFailed, func(r *Record) {
				r.Cordon, r.Reason, r.Retry = "drain-1", "DrainFailed", 2
				change(r)
			})
		}
	}
	same := func(*Record) {}
	back := []Ref{{UID: "blue-1", Name: "blue", Retry: 2, Released: true}}
	complete := func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageComplete }
	for name, tc := range map[string]struct {
		so   []func(*out)
		want []Ref
	}{
		"it has failed, and is to stay so":           {[]func(*out){failed(same)}, nil},
		"it has failed, and all are to return":       {[]func(*out){failed(same), complete}, back},
		"it has failed, and is selected no more":     {[]func(*out){failed(same), func(o *out) { o.node.Labels["elsewhere"] = "" }}, back},
		"it is done":                                 {[]func(*out){failed(func(r *Record) { r.State = RecordDone })}, back},
		"it is cordoned for something else":          {[]func(*out){failed(func(r *Record) { r.Cordon = "drain-0" }), complete}, nil},
		"it is cordoned for nothing":                 {[]func(*out){failed(func(r *Record) { r.Cordon = "" }), complete, func(o *out) { o.node.CordonedFor = append(o.node.CordonedFor, "") }}, nil},
		"its maintenance is gone":                    {[]func(*out){failed(func(r *Record) { r.UID = "gone" })}, nil},
		"it cannot be put back":                      {[]func(*out){failed(func(r *Record) { r.Reason = slipwayv1alpha1.ReasonReturnFailed }), func(o *out) { o.m.Spec.Retry = 2 }, complete}, nil},
		"it cannot be put back, and is tried again":  {[]func(*out){failed(func(r *Record) { r.Reason = slipwayv1alpha1.ReasonReturnFailed }), func(o *out) { o.m.Spec.Retry = 3 }, complete}, back},
		"it could not be put back before they ended": {[]func(*out){failed(func(r *Record) { r.Reason = slipwayv1alpha1.ReasonReturnFailed }), func(o *out) { o.m.Spec.Retry, o.m.DeletionTimestamp = 2, &metav1.Time{Time: epoch} }}, back},
		"it could not be put back since they ended": {[]func(*out){failed(func(r *Record) { r.Reason = slipwayv1alpha1.ReasonReturnFailed }), func(o *out) {
			o.m.Spec.Retry, o.m.DeletionTimestamp = 2, &metav1.Time{Time: epoch.Add(-time.Minute)}
		}}, nil},
	} {
		o := nodeOut()
		for _, so := range tc.so {
			so(o)
		}
		o.gone()
		p, n, _ := o.planned()
		if diff := cmp.Diff(tc.want, p.leftCordoned(n)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestWhatANodeThatIsBackWaitsFor(t *testing.T) {
	for name, tc := range map[string]struct {
		so   func(*out)
		want cause
	}{
		"nothing":           {func(*out) {}, cause{}},
		"its kubelet":       {func(o *out) { o.node.Status.Conditions = nil }, cause{"NodeNotReady", "the node is not Ready"}},
		"somebody else":     {func(o *out) { o.node.Spec.Unschedulable = true }, cause{"NodeCordoned", "a third party has cordoned the node after its return"}},
		"its DaemonSets":    {func(o *out) { o.node.Unready = []string{"a/b"} }, cause{"DaemonSetPodsNotReady", "pods of DaemonSets are not Ready (1): a/b"}},
		"what is not known": {func(o *out) { o.node.Checked = false }, cause{"DaemonSetPodsNotReady", "the controller is reading the pods of its DaemonSets"}},
		"what may be kept away": {func(o *out) { o.facts.KeptAwayUnknown = true }, cause{
			"DaemonSetPodsNotReady", "the controller is reading the pods of DaemonSets that the node kept away",
		}},
		"what was kept away": {func(o *out) {
			o.facts.KeptAway = []KeptPod{{Namespace: "n", Name: "b", Node: "one"}, {Namespace: "n", Name: "a", Node: "one"}, {Namespace: "n", Name: "c", Node: "two"}}
		}, cause{"DaemonSetPodsNotReady", "pods of DaemonSets have yet to return (2): n/a, n/b"}},
		"nothing, as it was cordoned before": {func(o *out) {
			o.node.Spec.Unschedulable = true
			o.back.Status.Conditions = []metav1.Condition{{Type: lifecyclev1alpha1.ConditionSchedulable, Status: metav1.ConditionFalse}}
		}, cause{}},
		"nothing, as nobody waits for it": {func(o *out) {
			o.node.Status.Conditions, o.m.Spec.Stage = nil, slipwayv1alpha1.StageComplete
		}, cause{}},
		"nothing, as who waited is gone": {func(o *out) { o.node.Status.Conditions, o.refs[0].UID = nil, "gone" }, cause{}},
	} {
		o := nodeOut()
		o.drain = nil
		o.returning()
		o.node.Spec.Unschedulable, o.node.Checked = false, true
		tc.so(o)
		p, n, _ := o.planned()
		if got := p.unhealthy(n); got != tc.want {
			t.Errorf("%s: got %v; want %v", name, got, tc.want)
		}
	}
}
