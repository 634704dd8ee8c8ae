// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// A merge patch replaces lists: what was allowed before is in it, or the server refuses it.
func TestWhatHelpsWhereGuardsHoldNodes(t *testing.T) {
	type guards = []slipwayv1alpha1.MaintenanceGuard
	last, brain := slipwayv1alpha1.GuardLastSchedulableNode, slipwayv1alpha1.GuardAllControlPlaneNodes
	const patch = `kubectl patch nodemaintenances.slipway.dev m --type=merge -p '{"spec":{"allow":[`
	for name, tc := range map[string]struct {
		held    []string
		allowed guards
		rollout *slipwayv1alpha1.MaintenanceRollout
		want    []advice
	}{
		"none is held":                          {nil, nil, nil, nil},
		"the last one":                          {[]string{"LastSchedulableNode"}, nil, nil, []advice{{"Allow it", patch + `"LastSchedulableNode"]}}'`}}},
		"the last one of a rollout":             {[]string{"LastSchedulableNode"}, nil, &slipwayv1alpha1.MaintenanceRollout{}, []advice{{"Allow it", patch + `"LastSchedulableNode"]}}'`}}},
		"a second one of the control plane":     {[]string{"SecondControlPlaneNode"}, guards{last}, nil, []advice{{"Allow it", patch + `"AllControlPlaneNodes","LastSchedulableNode"]}}'`}}},
		"a second one, and a rollout waits":     {[]string{"SecondControlPlaneNode"}, guards{last}, &slipwayv1alpha1.MaintenanceRollout{}, nil},
		"both":                                  {[]string{"SecondControlPlaneNode", "LastSchedulableNode"}, nil, nil, []advice{{"Allow it", patch + `"AllControlPlaneNodes","LastSchedulableNode"]}}'`}}},
		"it is allowed, and not seen there yet": {[]string{"SecondControlPlaneNode"}, guards{brain}, nil, []advice{{"Allow it", patch + `"AllControlPlaneNodes"]}}'`}}},
	} {
		m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		m.Spec.Stage, m.Spec.Allow, m.Spec.Rollout = slipwayv1alpha1.StageDrain, tc.allowed, tc.rollout
		m.Status.ObservedGeneration = 1
		for _, code := range tc.held {
			m.Status.NodeStatuses = append(m.Status.NodeStatuses, slipwayv1alpha1.MaintenanceNodeStatus{
				Name: "n", Phase: slipwayv1alpha1.NodeHeld, Reason: code,
			})
		}
		row := rowOfMaintenance(m)
		if diff := cmp.Diff(tc.want, row.next(), cmp.AllowUnexported(advice{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAMaintenanceThatStandsAfterSomeNodesGoesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		paused           bool
		limit, returned  int32 // 0: there is no limit
		out              int32
		more             int32
		changed          bool
		want             int32 // 0: none
		together, isOver bool
		reason           string // of Progressing
		wrong            string
	}{
		"not paused":                       {},
		"paused":                           {paused: true, changed: true},
		"paused, before its limit":         {paused: true, limit: 5, returned: 3, changed: true, want: 5},
		"at its limit":                     {limit: 5, returned: 5, changed: true},
		"at its limit when all are back":   {limit: 5, returned: 4, out: 1, changed: true},
		"before it, with some out":         {limit: 5, returned: 2, out: 2, want: 5},
		"at its limit, one not out yet":    {limit: 5, returned: 4, reason: slipwayv1alpha1.ReasonPauseAfter, changed: true},
		"past its limit, and paused":       {paused: true, limit: 5, returned: 6, changed: true},
		"at its limit, for more":           {limit: 5, returned: 5, more: 10, changed: true, want: 15},
		"before its limit, for more":       {limit: 5, returned: 2, more: 3, want: 5},
		"without a limit, with one now":    {returned: 2, more: 3, changed: true, want: 5},
		"for more, where all are together": {together: true, more: 3, wrong: "no rollout"},
		"paused, where all are together":   {together: true, paused: true, changed: true},
		"over":                             {isOver: true, wrong: "has completed"},
	} {
		m := readMaintenances(t)["disks"]
		if tc.isOver {
			m = readMaintenances(t)["april"]
		}
		m.Spec.Paused, m.Spec.Rollout.PauseAfter = tc.paused, nil
		m.Status.Nodes.Returned, m.Status.Nodes.Out = tc.returned, tc.out
		if !tc.isOver {
			m.Status.Conditions = []metav1.Condition{{Type: slipwayv1alpha1.MaintenanceProgressing, Reason: tc.reason}}
		}
		if tc.limit > 0 {
			m.Spec.Rollout.PauseAfter = &tc.limit
		}
		if tc.together {
			m.Spec.Rollout = nil
		}
		changed, err := resumed(m, tc.more)
		if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		var got int32
		if m.Spec.Rollout != nil && m.Spec.Rollout.PauseAfter != nil {
			got = *m.Spec.Rollout.PauseAfter
		}
		if changed != tc.changed || got != tc.want || m.Spec.Paused {
			t.Errorf("%s: changed %v, limit %d, paused %v; want %v, %d, false", name, changed, got, m.Spec.Paused, tc.changed, tc.want)
		}
	}
}

func TestWhatHasFailedIsTriedAgain(t *testing.T) {
	m := readMaintenances(t)["kernel-6.12"]
	nodes, changed, err := retried(m)
	if err != nil || !changed || m.Spec.Retry != 1 || len(nodes.failed) != 1 || nodes.failed[0].Name != "worker-05" || nodes.stuck != nil {
		t.Errorf("%v, %v, %v; spec.retry is %d", nodes.failed, changed, err, m.Spec.Retry)
	}
	m = readMaintenances(t)["by-hand"]
	if _, changed, err := retried(m); changed || err != nil || m.Spec.Retry != 0 {
		t.Errorf("where nothing has failed: %v, %v; spec.retry is %d", changed, err, m.Spec.Retry)
	}
	m = readMaintenances(t)["aborted"]
	if _, changed, err := retried(m); changed || err == nil {
		t.Errorf("where it is complete: %v, %v", changed, err)
	}
}

func TestNodesWhoseDrainsWaitForEachOtherGiveWayAgain(t *testing.T) {
	m := readMaintenances(t)["deadlocked"]
	nodes, changed, err := retried(m)
	if err != nil || !changed || m.Spec.Retry != 1 || nodes.failed != nil || len(nodes.stuck) != 2 || nodes.stuck[0].Name != "worker-11" {
		t.Errorf("%v, %v, %v, %v; spec.retry is %d", nodes.failed, nodes.stuck, changed, err, m.Spec.Retry)
	}
	m = readMaintenances(t)["deadlocked"]
	m.Spec.Rollout = nil // none gives way
	if nodes, changed, err := retried(m); changed || err != nil || nodes.stuck != nil || m.Spec.Retry != 0 {
		t.Errorf("where no node gives way: %v, %v, %v; spec.retry is %d", nodes.stuck, changed, err, m.Spec.Retry)
	}
}

func TestAStageNeverGoesBack(t *testing.T) {
	for i, is := range stages {
		for j, to := range stages {
			m := readMaintenances(t)["rack-7"]
			m.Spec.Stage = is
			changed, err := staged(m, to)
			if changed != (j > i) || (err != nil) != (j < i) {
				t.Errorf("%s to %s: %v, %v", is, to, changed, err)
			}
			if want := stages[max(i, j)]; m.Spec.Stage != want {
				t.Errorf("%s to %s: it is %s", is, to, m.Spec.Stage)
			}
		}
	}
	m := readMaintenances(t)["rack-7"]
	m.Spec.Stage = ""
	if changed, err := staged(m, slipwayv1alpha1.StageDrain); !changed || err != nil {
		t.Errorf("from no stage: %v, %v", changed, err)
	}
}

func TestWhatAnEarlyEndMeansIsSaid(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{"kernel-6.12", "rack-7", "by-hand", "tonight"} {
		row := rowOfMaintenance(readMaintenances(t)[name])
		text.WriteString(abortText(&row))
	}
	clitest.Golden(t, "maintenance/abort", text.String())
}

func TestWorkIsDoneOnlyWhereSomethingWaitsForIt(t *testing.T) {
	known := readMaintenances(t)
	var all []*slipwayv1alpha1.NodeMaintenance
	for _, m := range known {
		all = append(all, m)
	}
	manual := known["by-hand"].DeepCopy()
	manual.Status.NodeStatuses = nil
	none := known["april"].DeepCopy()
	var text strings.Builder
	say := func(name string, err error) { fmt.Fprintf(&text, "%s: %v\n", name, err) }
	claimed := lifecyclev1alpha1.Claimed
	say("nothing is out", waitsForWork("worker-01", nil, all))
	say("it waits", waitsForWork("worker-01", eventFor(t, "worker-01", claimed, "m9"), all))
	say("one of two waits", waitsForWork("worker-01", eventFor(t, "worker-01", claimed, "m2", "m9"), all))
	say("the other one does not", waitsForWork("worker-01", eventFor(t, "worker-01", claimed, "m2"), all))
	say("a Job", waitsForWork("worker-09", eventFor(t, "worker-09", claimed, "m1"), all))
	say("no work", waitsFor("worker-09", none))
	say("the status has no room", waitsFor("worker-09", manual))
	say("of somebody unknown", waitsForWork("worker-09", eventFor(t, "worker-09", claimed, "m77"), all))
	for _, phase := range []slipwayv1alpha1.MaintenanceNodePhase{
		slipwayv1alpha1.NodeHeld, slipwayv1alpha1.NodeDraining, slipwayv1alpha1.NodeDrained, slipwayv1alpha1.NodeReturning, slipwayv1alpha1.NodeFailed,
	} {
		manual.Status.NodeStatuses = []slipwayv1alpha1.MaintenanceNodeStatus{{Name: "worker-09", Phase: phase}}
		say(string(phase), waitsFor("worker-09", manual))
	}
	for _, point := range []slipwayv1alpha1.HookPoint{slipwayv1alpha1.AfterDrain, slipwayv1alpha1.BeforeReturn} {
		manual.Status.NodeStatuses = []slipwayv1alpha1.MaintenanceNodeStatus{{
			Name: "worker-09", Phase: slipwayv1alpha1.NodeHeld, Message: string(point) + ": waiting for hook test",
		}}
		say("Held "+string(point), waitsFor("worker-09", manual))
	}
	manual.Status.NodeStatuses = []slipwayv1alpha1.MaintenanceNodeStatus{{
		Name: "worker-09", Phase: slipwayv1alpha1.NodeUnhealthy, Reason: slipwayv1alpha1.ReasonNodeNotReady, Message: "the node is not Ready",
	}}
	say("Unhealthy", waitsFor("worker-09", manual))
	say("Unhealthy, and its drain is gone", waitsForWork("worker-09", nil, []*slipwayv1alpha1.NodeMaintenance{manual}))
	back := eventFor(t, "worker-09", lifecyclev1alpha1.Succeeded, "m9")
	accept := func(name string, event *lifecyclev1alpha1.LifecycleEvent) {
		why, err := acceptable("worker-09", event, []*slipwayv1alpha1.NodeMaintenance{manual})
		fmt.Fprintf(&text, "accepted, %s: %q, %v\n", name, why, err)
	}
	accept("as it is back", back)
	accept("on its way", eventFor(t, "worker-09", claimed, "m9"))
	accept("for nobody", eventFor(t, "worker-09", lifecyclev1alpha1.Succeeded, "m77"))
	accept("not out", nil)
	manual.Status.NodeStatuses = nil
	accept("where the status has no room", back)
	clitest.Golden(t, "done/waits", text.String())
}

func TestAHookThatIsNotThereIsNamedWithThoseThatAre(t *testing.T) {
	known := readMaintenances(t)
	if err := hasHook(known["kernel-6.12"], "backup"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"kernel-6.12": "it has backup", "disks": "it has no hooks"} {
		if err := hasHook(known[name], "bakcup"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unreadable injects an error into each read, and keeps the name that was asked for.
type unreadable struct {
	client.Reader
	asked string
}

func (u *unreadable) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	u.asked = key.Name
	return clitest.ErrRefused
}

// The controller has the one rule for names of events, also for nodes whose names are too long
// for a prefix, or read as the return of another node.
func TestTheEventOfANodeHasTheNameThatTheControllerGivesIt(t *testing.T) {
	for name, node := range map[string]string{
		"a short name":   "worker-1",
		"a return":       "rack-return",
		"the longest":    strings.Repeat("a", 253),
		"one that fits":  strings.Repeat("a", 253-len("maintenance-")),
		"one too long":   strings.Repeat("a", 254-len("maintenance-")),
		"one with parts": strings.Repeat("a.", 125) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			reader := &unreadable{}
			_, err := eventOf(t.Context(), reader, maintenance.DrainName(node), node)
			want := maintenance.DrainName(node)
			if reader.asked != want || len(want) > 253 {
				t.Errorf("asked for %q; want %q", reader.asked, want)
			}
			if !errors.Is(err, clitest.ErrRefused) || !strings.Contains(err.Error(), "LifecycleEvent "+want) {
				t.Errorf("got error %v", err)
			}
		})
	}
}
