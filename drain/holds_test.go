// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func TestARequestThatMakesNoSenseIsRefused(t *testing.T) {
	negative := -time.Second
	for want, r := range map[string]Request{
		"": {
			NodeName: "w", GracePeriodSeconds: new(int64(1)), PodTimeout: 0, Mode: ModeEviction, VolumeTimeout: new(time.Duration(0)),
			Targets: []Target{{PodType: PodTypeDefault}, {PodType: PodTypeDaemonSet}},
		},
		"drain: Request.PodTimeout is -1s, it must not be negative":             {NodeName: "w", PodTimeout: negative},
		"drain: Request.Escalation.DeleteAfter is -1s, it must not be negative": {NodeName: "w", Escalation: Escalation{DeleteAfter: negative}},
		"drain: Request.Escalation.KillAfter is -1s, it must not be negative":   {NodeName: "w", Escalation: Escalation{KillAfter: negative}},
		"drain: Request.VolumeTimeout is -1s, it must not be negative":          {NodeName: "w", VolumeTimeout: &negative},
		"drain: Request.GracePeriodSeconds is 0, it must be 1 or more":          {NodeName: "w", GracePeriodSeconds: new(int64(0))},
		`drain: Request.Mode is "Fast", it must be Auto, EvictionRequest or Eviction`: {
			NodeName: "w", Mode: "Fast",
		},
		`drain: Request.Targets[1].PodType is "Pet", it must be Default, DaemonSet or Static`: {
			NodeName: "w", Targets: []Target{{PodType: PodTypeDefault}, {PodType: "Pet"}},
		},
	} {
		got := ""
		if err := r.validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}

func TestWhyTargetsDoNotSpeakOfAPod(t *testing.T) {
	daemon := ownedBy("apps/v1", "DaemonSet", true)
	inOwn := func(pod *corev1.Pod) { pod.Namespace = "slipway" }
	labelled := func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "shop"} }
	of := func(kind PodType, change ...func(*Target)) []Target {
		target := Target{PodType: kind}
		for _, c := range change {
			c(&target)
		}
		return []Target{target}
	}
	upTo := func(p int32) func(*Target) { return func(t *Target) { t.PodPriority = &p } }
	shop := func(t *Target) { t.Selector = labels.SelectorFromSet(labels.Set{"app": "shop"}) }
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		targets []Target
		want    Exemption
	}{
		"an ordinary one, without targets":     {newPod("p"), nil, ""},
		"a DaemonSet's, without targets":       {newPod("p", daemon), nil, DaemonSetPod},
		"an ordinary one, and only DaemonSets": {newPod("p"), of(PodTypeDaemonSet), NotTargeted},
		"a DaemonSet's, and only DaemonSets":   {newPod("p", daemon), of(PodTypeDaemonSet), ""},
		"a finished one of a DaemonSet":        {newPod("p", daemon, phase(corev1.PodFailed)), of(PodTypeDefault), ""},
		"a mirror pod, whatever is targeted":   {newPod("p", mirror), of(PodTypeDefault), StaticPod},
		"a DaemonSet's of those who drain":     {newPod("p", daemon, inOwn), of(PodTypeDaemonSet), DaemonSetPod},
		"an ordinary one of those who drain":   {newPod("p", inOwn), of(PodTypeDefault), ""},
		"one up to the priority":               {newPod("p", priority(10)), of(PodTypeDefault, upTo(10)), ""},
		"one above the priority":               {newPod("p", priority(11)), of(PodTypeDefault, upTo(10)), NotTargeted},
		"one without a priority has 0":         {newPod("p"), of(PodTypeDefault, upTo(0)), ""},
		"one without a priority is not below":  {newPod("p"), of(PodTypeDefault, upTo(-1)), NotTargeted},
		"one that is selected":                 {newPod("p", labelled), of(PodTypeDefault, shop), ""},
		"one that is not selected":             {newPod("p"), of(PodTypeDefault, shop), NotTargeted},
		"a DaemonSet's that is not selected":   {newPod("p", daemon), of(PodTypeDaemonSet, shop), DaemonSetPod},
	} {
		if got := exemption(tc.pod, Request{Targets: tc.targets}, "slipway"); got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
	if got := exemption(newPod("p", inOwn), Request{KeepOwnPods: true}, "slipway"); got != NotTargeted {
		t.Errorf("a pod that could run on no other node: got %q", got)
	}
	if got := exemption(newPod("p"), Request{KeepOwnPods: true}, "slipway"); got != "" {
		t.Errorf("a pod of another namespace: got %q", got)
	}
	if got := exemption(newPod("p", daemon, func(p *corev1.Pod) { p.Namespace = "" }), Request{Targets: of(PodTypeDaemonSet)}, ""); got != "" {
		t.Errorf("nobody drains who has a namespace: got %q", got)
	}
}

func TestWhatIsReadOfANode(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	taint := func(key string, effect corev1.TaintEffect) []corev1.Taint {
		return []corev1.Taint{{Key: key, Effect: effect}}
	}
	for name, tc := range map[string]struct {
		node   corev1.Node
		want   nodeFacts
		closed bool
	}{
		"it is open":                   {corev1.Node{}, nodeFacts{}, false},
		"it is Ready":                  {corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}}, nodeFacts{ready: true}, false},
		"it is not Ready":              {corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}}}, nodeFacts{}, false},
		"something else of it is True": {corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue}}}}, nodeFacts{}, false},
		"it is cordoned":               {corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, nodeFacts{unschedulable: true}, false},
		"it is cordoned, and the taint is there": {
			corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true, Taints: taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)}},
			nodeFacts{unschedulable: true, tainted: true},
			true,
		},
		"the taint is there, and it is not cordoned": {
			corev1.Node{Spec: corev1.NodeSpec{Taints: taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)}}, nodeFacts{tainted: true}, false,
		},
		"the taint has another effect": {
			corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true, Taints: taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoExecute)}},
			nodeFacts{unschedulable: true},
			false,
		},
		"it is another taint": {
			corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true, Taints: taint("gpu", corev1.TaintEffectNoSchedule)}}, nodeFacts{unschedulable: true}, false,
		},
		"volumes are attached": {
			corev1.Node{Status: corev1.NodeStatus{VolumesAttached: []corev1.AttachedVolume{{Name: "v"}, {Name: "w"}}}}, nodeFacts{attached: []string{"v", "w"}}, false,
		},
	} {
		tc.want.known, tc.want.exists = true, true
		got := nodeFactsOf(&tc.node)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(nodeFacts{})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if got.closed() != tc.closed {
			t.Errorf("%s: no pod is to be expected any more: %t", name, got.closed())
		}
	}
	if (nodeFacts{}).closed() || !(nodeFacts{known: true}).closed() {
		t.Error("a node of which nothing is known is closed, or one that is gone is not")
	}
}

// An observer is told of each difference, and of nothing else.
func TestWhichStatusesAreTheSame(t *testing.T) {
	of := func() Status {
		return Status{
			Total: 3, Done: 1, Moving: 1, Message: "m", Named: []PodReference{{UID: "a"}},
			Blockers: []Blocker{{By: "b"}}, Left: []Blocker{{By: "l"}}, Overridden: []types.NamespacedName{{Name: "o"}},
		}
	}
	if !of().equal(of()) {
		t.Error("the same is not the same")
	}
	for name, change := range map[string]func(*Status){
		"Total":      func(s *Status) { s.Total++ },
		"Done":       func(s *Status) { s.Done++ },
		"Moving":     func(s *Status) { s.Moving++ },
		"Message":    func(s *Status) { s.Message = "n" },
		"Reached":    func(s *Status) { s.Reached = true },
		"Named":      func(s *Status) { s.Named[0].UID = "z" },
		"Blockers":   func(s *Status) { s.Blockers[0].By = "z" },
		"Left":       func(s *Status) { s.Left[0].By = "z" },
		"Overridden": func(s *Status) { s.Overridden[0].Name = "z" },
	} {
		other := of()
		change(&other)
		if of().equal(other) {
			t.Errorf("another %s is the same", name)
		}
	}
	unknown, none := Status{}, Status{Named: []PodReference{}}
	if unknown.equal(none) {
		t.Error("nobody known to be named, and nobody named, are the same")
	}
}

func TestWhichVolumesAPodClaims(t *testing.T) {
	pod := newPod("p", func(p *corev1.Pod) {
		p.Namespace = "shop"
		p.Spec.Volumes = []corev1.Volume{
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "cart"}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		}
	})
	want := []types.NamespacedName{{Namespace: "shop", Name: "cart"}, {Namespace: "shop", Name: "p-scratch"}}
	if diff := cmp.Diff(want, claims([]*corev1.Pod{pod})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	csi := &corev1.PersistentVolume{}
	csi.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d.example.com", VolumeHandle: "h"}
	if got := attachedName(csi); got != "kubernetes.io/csi/d.example.com^h" {
		t.Errorf("a volume of CSI is attached as %q", got)
	}
	if got := attachedName(&corev1.PersistentVolume{}); got != "" {
		t.Errorf("another volume is attached as %q", got)
	}
}

// Each failure in a row has the whole drain wait longer.
func TestABrakeTightensWithEachFailure(t *testing.T) {
	b, now := brake{}, noon
	last := time.Duration(0)
	for i := range 4 {
		b = b.after(answer{outcome: overloaded}, now, 1)
		wait := b.until.Sub(now)
		if b.failures != i+1 || wait <= last {
			t.Errorf("after %d failures: it counts %d, and waits %s after %s", i+1, b.failures, wait, last)
		}
		last, now = wait, b.until
	}
	if got := b.after(answer{outcome: notSent}, now, 1); got != b {
		t.Errorf("what was not sent says nothing: got %+v; want %+v", got, b)
	}
}

func TestWhatARefusedDeletionSays(t *testing.T) {
	denial := denied(http.StatusForbidden)
	got := interpretDeletion(denial, newPod("p"))
	const begin = "the server refuses the deletion that follows after evictions without effect: admission webhook"
	if got.outcome != refused || got.refusal.reason != DeletionRefused || !strings.HasPrefix(got.refusal.message, begin) {
		t.Errorf("a refusal: got %+v, %+v", got, got.refusal)
	}
	slow := interpretDeletion(apierrors.NewTimeoutError("slow", 1), newPod("p"))
	if slow.outcome != refused || slow.refusal.reason != EvictionTimedOut {
		t.Errorf("one that took too long: got %+v, %+v", slow, slow.refusal)
	}
	if got := interpretDeletion(nil, newPod("p")); got.outcome != accepted || got.refusal != nil {
		t.Errorf("an accepted one: got %+v", got)
	}
}

func TestWhatIsSaidOfAServerThatCannotBeReached(t *testing.T) {
	const want = "the API server cannot be reached or cannot serve (connection refused); the drain tries again until it can"
	if got := interpret(errors.New("connection refused"), newPod("p"), nil).refusal; got == nil || !strings.HasPrefix(got.message, want) {
		t.Errorf("got %+v; want %q", got, want)
	}
}

func TestWhichBudgetRefused(t *testing.T) {
	err := withCause(apierrors.NewTooManyRequests("no", 0), policyv1.DisruptionBudgetCause, "needs 2")
	for name, tc := range map[string]struct {
		guards []*budget
		by     string
	}{
		"the only one":          {[]*budget{newPDB("b")}, "b"},
		"none that is known":    {nil, ""},
		"one of two, who knows": {[]*budget{newPDB("b"), newPDB("c")}, ""},
	} {
		const want = "the server refuses the eviction because of a disruption budget: needs 2; the drain tries again when the budget changes"
		if got := refusedByBudget(err, tc.guards); got.by != tc.by || got.message != want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestBriefLeavesWhatIsShort(t *testing.T) {
	for length, want := range map[int]string{399: "", 400: "", 401: "…"} {
		text := strings.Repeat("x", length)
		if got := brief(errors.New(text)); got != text[:min(length, 400)]+want {
			t.Errorf("of %d bytes: got %d, and %q", length, len(got), want)
		}
	}
}

// Who is told that a pod waits is told again where that is about something else, not where only the words are others.
func TestProgressThatDiffersInTextsOnlyResembles(t *testing.T) {
	of := func() PodProgress {
		return PodProgress{Blocker: Blocker{Reason: BudgetExhausted, By: "b", Message: "m"}, Ends: noon}
	}
	for name, tc := range map[string]struct {
		change func(*PodProgress)
		want   bool
	}{
		"nothing":        {func(*PodProgress) {}, true},
		"the text":       {func(p *PodProgress) { p.Blocker.Message = "n" }, true},
		"the reason":     {func(p *PodProgress) { p.Blocker.Reason = Terminating }, false},
		"who":            {func(p *PodProgress) { p.Blocker.By = "c" }, false},
		"when it is due": {func(p *PodProgress) { p.Ends = noon.Add(1) }, false},
	} {
		other := of()
		tc.change(&other)
		if got := of().resembles(other); got != tc.want {
			t.Errorf("%s is another: it resembles: %t", name, got)
		}
	}
}

func TestTheEarlierOfTwoTimes(t *testing.T) {
	never, one, two := time.Time{}, noon.Add(1), noon.Add(2)
	for _, tc := range []struct{ a, b, earlier time.Time }{
		{one, two, one},
		{two, one, one},
		{one, one, one},
		{never, one, one},
		{one, never, one},
		{never, never, never},
	} {
		if got := earlier(tc.a, tc.b); !got.Equal(tc.earlier) {
			t.Errorf("the earlier of %s and %s: %s", tc.a, tc.b, got)
		}
	}
}

func TestSlotsThatAreFreeAreForgotten(t *testing.T) {
	var a ages
	taken := &reservation{}
	a.add(taken, 1)
	for range 100 {
		a.add(&reservation{free: true}, 1)
	}
	if n := len(a.all); n > 2*1+agesKept+1 {
		t.Errorf("%d slots are kept of 1 that is taken", n)
	}
	if a.all[0] != taken {
		t.Error("the one that is taken is forgotten")
	}
	if got := a.oldest(func(s *reservation) bool { return s.free }); got == taken || got == nil {
		t.Errorf("the oldest that is free is %+v", got)
	}
	if got := a.oldest(func(*reservation) bool { return false }); got != nil || len(a.all) > 0 {
		t.Errorf("none matters: got %+v, and %d are kept", got, len(a.all))
	}
}

// What a watch gives that is no such object, as of one whose deletion was missed, is none.
func TestWhatIsNoObjectIsNone(t *testing.T) {
	lost := cache.DeletedFinalStateUnknown{Key: "n/p"}
	if _, wanted := toNode(lost); wanted {
		t.Error("it is a node")
	}
	if _, wanted := toPod(lost); wanted {
		t.Error("it is a pod")
	}
	if got, _ := toPod(newPod("p")); got.Name != "p" {
		t.Errorf("a pod that is one: %v", got)
	}
}

func TestWhatIsSaidOfWhatCannotBeRead(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, tc := range map[string]struct {
		err    error
		reason Reason
		begin  string
	}{
		"a rule that is wrong":  {fmt.Errorf("x: %w", ErrBadRule), RuleInvalid, "the rules cannot be understood ("},
		"no right":              {apierrors.NewForbidden(pods, "p", errors.New("no")), ReadRefused, "the rules cannot be read ("},
		"nobody":                {apierrors.NewUnauthorized("who"), ReadRefused, "the rules cannot be read ("},
		"a server that is away": {errNotRead, APIServerUnavailable, "the rules cannot be read now (the server has not answered); the drain tries again until it can"},
	} {
		got := unreadable("rules", tc.err)
		if got.reason != tc.reason || got.by != "rules" || !strings.HasPrefix(got.message, tc.begin) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
