// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

var (
	defaults = slipwayv1alpha1.DrainTarget{PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(math.MaxInt32))}
	daemons  = slipwayv1alpha1.DrainTarget{PodType: slipwayv1alpha1.PodTypeDaemonSet, PodPriority: new(int32(math.MaxInt32))}
)

// asks has the drain ask for these targets, and nothing else be planned.
func (o *out) asks(targets ...slipwayv1alpha1.DrainTarget) {
	parameters := slipwayv1alpha1.DrainParameters{Hold: true, Targets: targets}
	parameters.APIVersion, parameters.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	setParameters(o.drain, parameters)
}

// comesToDaemons has pods of DaemonSets be the next to leave.
func (o *out) comesToDaemons() {
	o.m.Spec.DrainPlan = []slipwayv1alpha1.DrainTarget{defaults, daemons}
	o.asks(defaults)
	o.reached(epoch)
}

func (o *out) keeps(which string) {
	o.node.Labels[slipwayv1alpha1.KeptAway] = slipwayv1alpha1.KeptAwayDaemonSets
	o.node.Annotations = map[string]string{slipwayv1alpha1.KeptAway: which}
}

// A Node keeps away what its drain covers, before the drain gets there, and until it has ended.
func TestWhatANodeKeepsAway(t *testing.T) {
	covers := drainplan.KeptAway([]slipwayv1alpha1.DrainTarget{defaults, daemons})
	if covers == "" {
		t.Fatal("pods of DaemonSets are not kept away at all")
	}
	withDaemons := (*out).comesToDaemons
	for name, tc := range map[string]struct {
		so   []func(*out)
		want string
	}{
		"no pods of DaemonSets":                          {nil, ""},
		"those of its plan":                              {[]func(*out){withDaemons}, covers},
		"it is on its way back":                          {[]func(*out){withDaemons, func(o *out) { o.returning() }}, ""},
		"its drain has ended":                            {[]func(*out){withDaemons, func(o *out) { o.drain.Status.ClaimStatus = lifecyclev1alpha1.Failed }}, ""},
		"it has no drain":                                {[]func(*out){withDaemons, func(o *out) { o.gone() }}, ""},
		"its Node is gone":                               {[]func(*out){withDaemons, func(o *out) { o.node.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "two"}} }}, ""},
		"nobody needs it, and its drain covers none":     {[]func(*out){withDaemons, func(o *out) { o.refs[0].Released = true; o.asks(defaults) }}, ""},
		"nobody needs it, and its drain covers them":     {[]func(*out){func(o *out) { o.refs[0].Released = true; o.asks(defaults, daemons) }}, covers},
		"its drain begins anew, and covered them before": {[]func(*out){withDaemons, func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageCordon; o.asks(); o.keeps("before") }}, "before"},
		"its drain begins anew, and never covered them":  {[]func(*out){func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageCordon; o.asks(); o.keeps("before") }}, ""},
		"whoever wanted them to stay away is gone":       {[]func(*out){withDaemons, func(o *out) { o.refs[0].UID = "gone"; o.asks(); o.keeps("before") }}, ""},
	} {
		o := nodeOut()
		for _, so := range tc.so {
			so(o)
		}
		p, n, _ := o.planned()
		if got := p.toKeepAway(n); got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
}

func TestWhatANodeIsToSayThatItKeepsAway(t *testing.T) {
	covers := drainplan.KeptAway([]slipwayv1alpha1.DrainTarget{defaults, daemons})
	withDaemons := (*out).comesToDaemons
	for name, tc := range map[string]struct {
		so      []func(*out)
		want    Step
		watches bool
	}{
		"nothing, and it says nothing": {nil, nil, false},
		"nothing, and it says so":      {[]func(*out){func(o *out) { o.keeps("some") }}, LetBack{"one"}, true},
		"nothing, and its label is left": {[]func(*out){func(o *out) {
			o.node.Labels[slipwayv1alpha1.KeptAway] = ""
		}}, LetBack{"one"}, true},
		"nothing, and its annotation is left": {[]func(*out){func(o *out) {
			o.node.Annotations = map[string]string{slipwayv1alpha1.KeptAway: ""}
		}}, LetBack{"one"}, true},
		"those of its plan":                      {[]func(*out){withDaemons}, KeepAway{"one", covers}, true},
		"those of its plan, and it says so":      {[]func(*out){withDaemons, func(o *out) { o.keeps(covers) }}, nil, true},
		"those of its plan, and it says others":  {[]func(*out){withDaemons, func(o *out) { o.keeps("others") }}, KeepAway{"one", covers}, true},
		"those of its plan, and its label is no": {[]func(*out){withDaemons, func(o *out) { o.keeps(covers); o.node.Labels[slipwayv1alpha1.KeptAway] = "x" }}, KeepAway{"one", covers}, true},
	} {
		o := nodeOut()
		for _, so := range tc.so {
			so(o)
		}
		p, n, _ := o.planned()
		steps, watches := p.keepAway(n)
		var got Step
		if len(steps) > 0 {
			got = steps[0]
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if watches != tc.watches {
			t.Errorf("%s: its pods are watched: %t", name, watches)
		}
	}
}

// What a Node does not say yet that it keeps away would come back at once.
func TestTargetsOfDaemonSetsWaitForTheNode(t *testing.T) {
	wanted := []slipwayv1alpha1.DrainTarget{defaults, daemons}
	covers := drainplan.KeptAway(wanted)
	for name, tc := range map[string]struct {
		so           func(*out)
		wanted, want []slipwayv1alpha1.DrainTarget
	}{
		"no pods of DaemonSets":               {func(*out) {}, wanted[:1], wanted[:1]},
		"the Node does not say so yet":        {func(o *out) { o.asks(defaults) }, wanted, wanted[:1]},
		"the Node says so":                    {func(o *out) { o.asks(defaults); o.keeps(covers) }, wanted, wanted},
		"the Node says others":                {func(o *out) { o.asks(defaults); o.keeps("others") }, wanted, wanted[:1]},
		"the drain has others already":        {func(o *out) { o.asks(defaults, slipwayv1alpha1.DrainTarget{PodType: slipwayv1alpha1.PodTypeDaemonSet}) }, wanted, []slipwayv1alpha1.DrainTarget{defaults, {PodType: slipwayv1alpha1.PodTypeDaemonSet}}},
		"there is nothing else, and a drain":  {func(o *out) { o.asks() }, wanted[1:], drainplan.NoPods()},
		"there is nothing else, and no drain": {func(o *out) { o.gone() }, wanted[1:], drainplan.NoPods()},
	} {
		o := nodeOut()
		tc.so(o)
		_, n, _ := o.look()
		if diff := cmp.Diff(tc.want, n.withheld(tc.wanted)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestWhenAPodMayComeBack(t *testing.T) {
	for name, tc := range map[string]struct {
		so   func(*out, *KeptPod)
		want bool
	}{
		"its node keeps nothing away":           {func(*out, *KeptPod) {}, true},
		"its gate is gone":                      {func(_ *out, pod *KeptPod) { pod.Gated = false }, false},
		"its node is gone":                      {func(o *out, pod *KeptPod) { o.keeps("some"); pod.Node = "gone" }, true},
		"its node says that it keeps some away": {func(o *out, _ *KeptPod) { o.keeps("some") }, false},
		"its node is about to say so":           {func(o *out, _ *KeptPod) { o.comesToDaemons() }, false},
	} {
		o := nodeOut()
		pod := KeptPod{Namespace: "n", Name: "p", Node: "one", Gated: true}
		tc.so(o, &pod)
		o.facts.KeptAway = []KeptPod{pod}
		p, _, _ := o.planned()
		if got := len(p.lift()) > 0; got != tc.want {
			t.Errorf("%s: its gate is lifted: %t", name, got)
		}
		if !Next(o.gather(), o.now).WatchKeptAway {
			t.Errorf("%s: it is not watched", name)
		}
	}
}

// What a drain asks for: what is planned, or what it has, where it is not to go on.
func TestWhichTargetsADrainIsToHave(t *testing.T) {
	plan := drainplan.Alone(drainplan.Complete(nil))
	have := []slipwayv1alpha1.DrainTarget{defaults}
	for name, tc := range map[string]struct {
		so   func(*out)
		want []slipwayv1alpha1.DrainTarget
	}{
		"what is planned":                               {func(*out) {}, plan},
		"what it has, while it is paused":               {func(o *out) { o.m.Spec.Paused = true }, have},
		"what is planned, as nobody has claimed it yet": {func(o *out) { o.m.Spec.Paused, o.drain.Status.ClaimStatus = true, "" }, plan},
		"what it has, while another one is paused":      {func(o *out) { o.both(); o.other.Spec.Paused = true }, have},
		"nothing, as nobody wants it to go on":          {func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageComplete }, drainplan.NoPods()},
		"nothing, in stage Cordon":                      {func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageCordon }, drainplan.NoPods()},
		"what it has reached, as nobody wants more":     {func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageComplete; o.reached(epoch) }, have},
		"nothing, as it has none, and nobody wants it":  {func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageComplete; o.asks(); o.reached(epoch) }, drainplan.NoPods()},
		"nothing, as it has failed":                     {func(o *out) { o.recorded(RecordFailed, nil) }, drainplan.NoPods()},
		"nothing, as it is on its way back":             {func(o *out) { o.refs[0].Released = true }, drainplan.NoPods()},
		"nothing, as whoever wanted it is gone":         {func(o *out) { o.refs[0].UID = "gone" }, drainplan.NoPods()},
		"nothing, as it is selected no more":            {func(o *out) { o.node.Labels["elsewhere"] = "" }, drainplan.NoPods()},
	} {
		o := nodeOut()
		o.asks(have...)
		tc.so(o)
		p, n, _ := o.planned()
		if diff := cmp.Diff(tc.want, p.wantedTargets(n)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestTheStricterDemandOfMaintenancesCounts(t *testing.T) {
	type demand = slipwayv1alpha1.MaintenanceDrain
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	forced := func(deletes, kills int) *slipwayv1alpha1.DrainEscalation {
		e := &slipwayv1alpha1.DrainEscalation{}
		if deletes > 0 {
			e.DeleteAfter = seconds(deletes)
		}
		if kills > 0 {
			e.KillAfter = seconds(kills)
		}
		return e
	}
	for name, tc := range map[string]struct{ a, b, want demand }{
		"none":                               {demand{}, demand{}, demand{}},
		"the longer grace period":            {demand{GracePeriodSeconds: new(int64(1))}, demand{GracePeriodSeconds: new(int64(2))}, demand{GracePeriodSeconds: new(int64(2))}},
		"the pods' own grace periods":        {demand{GracePeriodSeconds: new(int64(1))}, demand{}, demand{}},
		"the longer wait for a pod":          {demand{PodTimeout: seconds(1)}, demand{PodTimeout: seconds(2)}, demand{PodTimeout: seconds(2)}},
		"no limit of the wait":               {demand{PodTimeout: seconds(1)}, demand{PodTimeout: seconds(0)}, demand{}},
		"a refusal":                          {demand{UnmanagedPods: slipwayv1alpha1.PodPolicyRefuse}, demand{LocalStorage: slipwayv1alpha1.PodPolicyRefuse}, demand{UnmanagedPods: slipwayv1alpha1.PodPolicyRefuse, LocalStorage: slipwayv1alpha1.PodPolicyRefuse}},
		"the longer wait for volumes":        {demand{VolumeTimeout: seconds(200)}, demand{VolumeTimeout: seconds(300)}, demand{VolumeTimeout: seconds(300)}},
		"the default of the volumes":         {demand{VolumeTimeout: seconds(10)}, demand{}, demand{}},
		"the later escalation":               {demand{Escalation: forced(60, 10)}, demand{Escalation: forced(30, 20)}, demand{Escalation: forced(60, 20)}},
		"no deletion":                        {demand{Escalation: forced(60, 10)}, demand{Escalation: forced(0, 20)}, demand{Escalation: forced(0, 20)}},
		"no escalation":                      {demand{Escalation: forced(60, 0)}, demand{Escalation: forced(0, 20)}, demand{}},
		"no escalation where another has it": {demand{Escalation: forced(60, 10)}, demand{}, demand{}},
		"only responders":                    {demand{Mode: slipwayv1alpha1.DrainEvictionRequest}, demand{}, demand{Mode: slipwayv1alpha1.DrainEvictionRequest}},
		"responders before the drain":        {demand{Mode: slipwayv1alpha1.DrainEviction}, demand{Mode: slipwayv1alpha1.DrainAuto}, demand{Mode: slipwayv1alpha1.DrainAuto}},
	} {
		for _, order := range [][2]demand{{tc.a, tc.b}, {tc.b, tc.a}} {
			o := nodeOut()
			o.both()
			o.m.Spec.Drain, o.other.Spec.Drain = &order[0], &order[1]
			o.refs = append([]Ref{{UID: "gone"}}, o.refs...)
			p, n, _ := o.planned()
			if diff := cmp.Diff(tc.want, p.demands(n)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", name, diff)
			}
			if got := p.parameters(n, nil); !got.Hold || got.Kind != "DrainParameters" || got.APIVersion != "slipway.dev/v1alpha1" {
				t.Errorf("%s: got %+v", name, got)
			}
		}
	}
}

func TestHowFarNodesAreIsCompared(t *testing.T) {
	at := func(all ...slipwayv1alpha1.DrainTarget) drainplan.Progress { return drainplan.Progress{Reached: all} }
	lower := slipwayv1alpha1.DrainTarget{PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(5))}
	for name, tc := range map[string]struct {
		a, b drainplan.Progress
		want bool
	}{
		"nothing is less than something":     {at(), at(defaults), true},
		"something is not less than nothing": {at(defaults), at(), false},
		"one type is less than two":          {at(defaults), at(lower, daemons), true},
		"a lower priority is less":           {at(lower), at(defaults), true},
		"a higher one is not":                {at(defaults), at(lower), false},
		"the same is not less":               {at(defaults), at(defaults), false},
	} {
		if got := tc.a.Behind(tc.b); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A node tries again from where it is, once, when spec.retry is raised.
func TestWhenANodeIsTriedAgain(t *testing.T) {
	said := func(o *out) { o.drain.Annotations = map[string]string{slipwayv1alpha1.WorkDoneAnnotation: "yes"} }
	for name, tc := range map[string]struct {
		so    []func(*out)
		again bool
		word  bool // is left on the event
	}{
		"spec.retry was raised":                        {nil, true, false},
		"it was not raised":                            {[]func(*out){func(o *out) { o.m.Spec.Retry = 0 }}, false, true},
		"it is tried again already":                    {[]func(*out){func(o *out) { o.refs[0].Retry = 1 }}, false, true},
		"it has failed since":                          {[]func(*out){func(o *out) { o.node.Records[0].Retry = 1 }}, false, true},
		"it has not failed":                            {[]func(*out){func(o *out) { o.node.Records[0].State = RecordDone }}, false, true},
		"nothing is recorded":                          {[]func(*out){func(o *out) { o.node.Records = nil }}, false, true},
		"another one has yet to hear the word of work": {[]func(*out){func(o *out) { o.both(); o.other.Spec.Rollout = o.m.Spec.Rollout }}, true, true},
	} {
		o := nodeOut()
		o.m.Spec.Retry = 1
		o.recorded(RecordFailed, nil)
		o.refs[0].Begun, o.refs[0].Worked = true, epoch
		said(o)
		for _, so := range tc.so {
			so(o)
		}
		p, n, _ := o.planned()
		c := p.claims[n.name][0]
		if got := c.triesAgain(n); got != tc.again {
			t.Errorf("%s: it is tried again: %t", name, got)
		}
		if !tc.again {
			continue
		}
		got := p.tryAgain(n, c)
		want := Ref{UID: c.UID, Name: c.Name, Retry: 1, Since: epoch}
		if diff := cmp.Diff(want, got.ref); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if got.forgetsDone == tc.word {
			t.Errorf("%s: the word that the work is done is forgotten: %t", name, got.forgetsDone)
		}
	}
}

// What is written of a drain whose maintenance is paused, deleted or done with, all in one step.
func TestWhatBecomesOfADrain(t *testing.T) {
	for name, tc := range map[string]struct {
		so    func(*out)
		want  string
		phase slipwayv1alpha1.MaintenanceNodePhase
		why   string
	}{
		"it goes on":    {func(*out) {}, "", slipwayv1alpha1.NodeDraining, ""},
		"it is blocked": {func(o *out) { o.blocked() }, "", slipwayv1alpha1.NodeDraining, "Blocked"},
		"it is left, and its maintenance is paused": {func(o *out) {
			o.m.Spec.Paused = true
			o.node.Labels["elsewhere"] = ""
		}, "change event maintenance-one: targets none", slipwayv1alpha1.NodeDraining, "Paused"},
		"it is left, and nobody else needs it": {func(o *out) { o.node.Labels["elsewhere"] = "" }, "change event maintenance-one: for blue (released)", slipwayv1alpha1.NodeReturning, ""},
		"it only cordons":                      {func(o *out) { o.m.Spec.Stage = slipwayv1alpha1.StageCordon }, "change event maintenance-one: targets none", slipwayv1alpha1.NodeDraining, ""},
		"it is drained":                        {func(o *out) { o.reached(epoch) }, "", slipwayv1alpha1.NodeWorking, "WaitingForWork"},
		"it is drained, and paused":            {func(o *out) { o.reached(epoch); o.m.Spec.Paused = true }, "", slipwayv1alpha1.NodeDrained, "Paused"},
		"it is drained, without a rollout":     {func(o *out) { o.reached(epoch); o.m.Spec.Rollout = nil }, "", slipwayv1alpha1.NodeDrained, ""},
		"it is uncordoned":                     {func(o *out) { o.node.Spec.Unschedulable = false }, "change event maintenance-one: annotations or parameters", slipwayv1alpha1.NodeDraining, "NodeUncordoned"},
		"it waits to be claimed":               {func(o *out) { o.drain.Status.ClaimStatus = "" }, "", slipwayv1alpha1.NodeHeld, "Gated"},
		"it waits at our gate": {func(o *out) {
			o.drain.Status.ClaimStatus = ""
			o.drain.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: slipwayv1alpha1.MaintenanceGate}}
		}, "change event maintenance-one: open the gate", slipwayv1alpha1.NodeHeld, "Gated"},
		"it waits at our gate, and is paused": {func(o *out) {
			o.drain.Status.ClaimStatus, o.m.Spec.Paused = "", true
			o.drain.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: slipwayv1alpha1.MaintenanceGate}}
		}, "", slipwayv1alpha1.NodeHeld, "Paused"},
		"it takes too long": {func(o *out) {
			o.m.Spec.Drain = &slipwayv1alpha1.MaintenanceDrain{Timeout: &metav1.Duration{Duration: time.Minute}}
			o.says(lifecyclev1alpha1.ConditionClaimable, metav1.ConditionTrue, "Claimed", epoch.Add(-time.Minute))
		}, "record on one: blue Failed (DrainTimeout: spec.drain.timeout: the node was not drained within 1m0s)", slipwayv1alpha1.NodeDraining, ""},
		"it does not take too long yet": {func(o *out) {
			o.m.Spec.Drain = &slipwayv1alpha1.MaintenanceDrain{Timeout: &metav1.Duration{Duration: time.Minute}}
			o.says(lifecyclev1alpha1.ConditionClaimable, metav1.ConditionTrue, "Claimed", epoch.Add(1-time.Minute))
		}, "", slipwayv1alpha1.NodeDraining, ""},
		"it is deleted": {
			func(o *out) { o.drain.DeletionTimestamp = &metav1.Time{Time: epoch} },
			"record on one: blue Failed (DrainCanceled: a third party deleted LifecycleEvent maintenance-one)", slipwayv1alpha1.NodeFailed, "DrainCanceled",
		},
		"it is deleted, and nobody needs it": {func(o *out) {
			o.drain.DeletionTimestamp, o.m.Spec.Stage = &metav1.Time{Time: epoch}, slipwayv1alpha1.StageComplete
		}, "", slipwayv1alpha1.NodeReturning, ""},
	} {
		o := nodeOut()
		tc.so(o)
		p, n, m := o.planned()
		outcome := p.advance(n)
		steps := slices.Concat(outcome.steps, p.recordSteps(n, outcome.records))
		got := ""
		if len(steps) > 0 {
			got = describe(steps[0])
		}
		if got != tc.want || len(steps) > 1 {
			t.Errorf("%s: got %q of %d steps; want %q", name, got, len(steps), tc.want)
		}
		if at := outcome.statuses[m.UID]; at.phase != tc.phase || at.reason != tc.why {
			t.Errorf("%s: it is %s, %s; want %s, %s", name, at.phase, at.reason, tc.phase, tc.why)
		}
	}
}
