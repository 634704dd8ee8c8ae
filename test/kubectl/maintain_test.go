// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// maintained is a node, and a maintenance of it whose controller the test plays.
type maintained struct {
	t    *testing.T
	env  *harness.Env
	name string
	node string
}

func newMaintained(t *testing.T, name string) *maintained {
	t.Helper()
	env := harness.Shared(t)
	m := &maintained{t: t, env: env, name: name, node: env.Node(t, name).Name}
	t.Cleanup(func() { // the test's own context is over by then
		_ = env.Client.Delete(context.WithoutCancel(t.Context()), &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
	return m
}

// get is the maintenance as it is.
func (m *maintained) get() *slipwayv1alpha1.NodeMaintenance {
	m.t.Helper()
	var got slipwayv1alpha1.NodeMaintenance
	if err := m.env.Client.Get(m.t.Context(), client.ObjectKey{Name: m.name}, &got); err != nil {
		m.t.Fatal(err)
	}
	return &got
}

// say writes the status, as the controller does.
func (m *maintained) say(counts slipwayv1alpha1.MaintenanceNodeCounts, phase slipwayv1alpha1.MaintenanceNodePhase, reason string,
	conditionType string, value metav1.ConditionStatus, why string,
) {
	m.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		got := m.get()
		got.Status.ObservedGeneration, got.Status.Nodes, got.Status.NodeStatuses = got.Generation, counts, nil
		if phase != "" {
			got.Status.NodeStatuses = []slipwayv1alpha1.MaintenanceNodeStatus{{Name: m.node, Phase: phase, Reason: reason}}
		}
		got.Status.Conditions = []metav1.Condition{{Type: conditionType, Status: value, Reason: why, LastTransitionTime: metav1.Now()}}
		return m.env.Client.Status().Update(m.t.Context(), got)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

var (
	outOne      = slipwayv1alpha1.MaintenanceNodeCounts{Selected: 1, Out: 1}
	returnedOne = slipwayv1alpha1.MaintenanceNodeCounts{Selected: 1, Returned: 1}
	failedOne   = slipwayv1alpha1.MaintenanceNodeCounts{Selected: 1, Failed: 1}
)

// moves says that the node is in a phase.
func (m *maintained) moves(phase slipwayv1alpha1.MaintenanceNodePhase, reason string) {
	m.t.Helper()
	m.say(outOne, phase, reason, slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionTrue, slipwayv1alpha1.ReasonRunning)
}

func (m *maintained) completes() {
	m.t.Helper()
	m.say(returnedOne, "", "", slipwayv1alpha1.MaintenanceCompleted, metav1.ConditionTrue, slipwayv1alpha1.ReasonCompleted)
}

func (m *maintained) fails() {
	m.t.Helper()
	m.say(failedOne, slipwayv1alpha1.NodeFailed, slipwayv1alpha1.ReasonDrainTimeout,
		slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonFailureThreshold)
}

// awaitSpec waits until somebody has written the spec.
func (m *maintained) awaitSpec(what string, wanted func(*slipwayv1alpha1.NodeMaintenance) bool) {
	m.t.Helper()
	harness.Await(m.t, m.env, what, &slipwayv1alpha1.NodeMaintenanceList{}, wanted, harness.Named(m.name))
}

func (m *maintained) start(arguments ...string) *command {
	m.t.Helper()
	return start(m.t, m.env, arguments...)
}

func (m *maintained) run(want int, arguments ...string) (out, trouble string) {
	m.t.Helper()
	return run(m.t, m.env, want, arguments...)
}

func TestAMaintenanceIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-followed")
	first := m.start("maintain", m.name, m.node, "--reason", "firmware", "--job", "reboot", "--hook", "backup@before-drain:30m")
	first.trouble.await(t, "Selects 1 node now: "+m.node+".")
	first.out.await(t, m.name+"  not begun")
	second := m.start("maintenance", "status", "-w", m.name, "-o", "json")
	m.moves(slipwayv1alpha1.NodeDraining, "")
	first.out.await(t, m.name+"  running  1 node: 0 returned, 1 out", m.node+"  draining\n")
	second.out.await(t, `"phase":"Draining"`)
	second.signal(syscall.SIGINT)
	second.end(130)
	out, _ := m.run(0, "maintenance", "status")
	wantTexts(t, out, m.name, "running")
	out, _ = m.run(0, "maintenance", "status", "nm/"+m.name)
	wantTexts(t, out, m.name+": running, stage Drain", "firmware", "a Job of PodTemplate reboot", "nodes  d  0 of 1 back", "Draining")
	_, trouble := m.run(1, "maintain", m.name, m.node, "--work", "none")
	wantTexts(t, trouble, "there is a NodeMaintenance "+m.name+" already (firmware", "which is running: choose another name")
	m.completes()
	out, _ = first.end(0)
	wantTexts(t, out, "nodemaintenance.slipway.dev/"+m.name+" completed, 1 node: 1 returned")
	_, trouble = m.run(1, "maintenance", "pause", m.name)
	wantTexts(t, trouble, "has completed: no step is left")
}

func TestHowFollowingAMaintenanceEnds(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-ends")
	maintain := []string{"maintain", m.name, m.node, "--work", "none"}
	stopped := m.start(maintain...)
	stopped.out.await(t, "not begun")
	stopped.signal(syscall.SIGINT)
	_, trouble := stopped.end(130)
	wantTexts(t, trouble, "Stopped watching. It continues in the cluster.", "kubectl slipway maintenance abort "+m.name)
	m.env.Kubectl(t, "delete", "nodemaintenance", m.name)

	_, trouble = m.run(5, append(maintain, "--timeout=1s")...)
	wantTexts(t, trouble, "Timed out.")
	m.env.Kubectl(t, "delete", "nodemaintenance", m.name)

	failing := m.start(maintain...)
	failing.out.await(t, "not begun")
	m.fails()
	_, trouble = failing.end(3)
	wantTexts(t, trouble, "node "+m.node+" has failed: DrainTimeout", "stands still, as nodes have failed", "maintenance retry "+m.name)
	out, _ := m.run(0, "maintenance", "retry", m.name)
	wantTexts(t, out, "node/"+m.node+" is tried again, after DrainTimeout")
	if got := m.get().Spec.Retry; got != 1 {
		t.Errorf("spec.retry is %d", got)
	}
	m.env.Kubectl(t, "delete", "nodemaintenance", m.name)

	deleted := m.start(maintain...)
	deleted.out.await(t, "not begun")
	m.env.Kubectl(t, "delete", "nodemaintenance", m.name)
	_, trouble = deleted.end(4)
	wantTexts(t, trouble, "it was deleted, which ends it")
}

func TestAMaintenanceIsPausedResumedAndAborted(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-paused")
	out, _ := m.run(0, "maintain", m.name, m.node, "--pause-after", "1", "--wait=false", "-o", "name")
	wantTexts(t, out, "nodemaintenance.slipway.dev/"+m.name+"\n")
	m.run(0, "maintenance", "pause", m.name)
	out, _ = m.run(0, "maintenance", "pause", m.name)
	wantTexts(t, out, "is paused already")
	m.say(returnedOne, "", "", slipwayv1alpha1.MaintenanceProgressing, metav1.ConditionFalse, slipwayv1alpha1.ReasonPaused)
	out, _ = m.run(0, "maintenance", "resume", m.name, "--pause-after=4")
	wantTexts(t, out, "resumed, until 5 nodes have returned")
	out, _ = m.run(0, "maintenance", "resume", m.name)
	wantTexts(t, out, "is not paused")
	m.moves(slipwayv1alpha1.NodeDraining, "")
	_, trouble := m.run(2, "maintenance", "abort", m.name)
	wantTexts(t, trouble, "ends for good", "1 out of service now", "--yes skips the question")
	abort := m.start("maintenance", "abort", m.name, "--yes")
	m.awaitSpec("is to be complete", func(got *slipwayv1alpha1.NodeMaintenance) bool {
		return got.Spec.Stage == slipwayv1alpha1.StageComplete
	})
	abort.out.await(t, "returning")
	m.completes()
	out, _ = abort.end(0)
	wantTexts(t, out, "nodemaintenance.slipway.dev/"+m.name+" has ended")
	_, trouble = m.run(1, "maintenance", "stage", m.name, "cordon")
	wantTexts(t, trouble, "is in stage Complete, and cannot return to stage Cordon")
	out, _ = m.run(0, "maintenance", "abort", m.name)
	wantTexts(t, out, "has completed already")
}

func TestStagesAreMovedByHand(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-stages")
	_, trouble := m.run(0, "maintain", m.name, m.node, "--all-together", "--stage", "cordon")
	wantTexts(t, trouble, "It continues in the cluster.")
	_, trouble = m.run(1, "done", m.node)
	wantTexts(t, trouble, "no maintenance waits for work")
	drain := m.start("maintenance", "stage", m.name, "drain")
	m.awaitSpec("is to drain", func(got *slipwayv1alpha1.NodeMaintenance) bool { return got.Spec.Stage == slipwayv1alpha1.StageDrain })
	m.say(outOne, slipwayv1alpha1.NodeDrained, "", slipwayv1alpha1.MaintenanceDrained, metav1.ConditionTrue, slipwayv1alpha1.ReasonDrained)
	out, _ := drain.end(0)
	wantTexts(t, out, m.name+" drained", "stage "+m.name+" complete' returns them")
}

func TestHooksAndWorkAreSaidOnTheEventOfTheNode(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-hooks")
	m.run(0, "maintain", m.name, m.node, "--hook", "backup@before-drain", "--wait=false")
	_, trouble := m.run(1, "maintenance", "open", m.name, m.node, "backup")
	wantTexts(t, trouble, "node "+m.node+" is not out of service for NodeMaintenance "+m.name)
	fors, err := json.Marshal([]map[string]any{{"uid": m.get().UID, "name": m.name}})
	if err != nil {
		t.Fatal(err)
	}
	event := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
		Name: "maintenance-" + m.node, Annotations: map[string]string{slipwayv1alpha1.MaintenancesAnnotation: string(fors)},
		Labels: map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "drain"},
	}}
	event.Spec.TransitionName, event.Spec.BindingNode = "drain.slm.k8s.io", m.node
	create(t, m.env, event)
	m.moves(slipwayv1alpha1.NodeHeld, slipwayv1alpha1.ReasonHookWaiting)

	_, trouble = m.run(1, "maintenance", "open", m.name, m.node, "backpu")
	wantTexts(t, trouble, "it has backup")
	m.run(0, "maintenance", "hold", m.name, m.node, "backup")
	m.annotated(slipwayv1alpha1.HookAnnotationPrefix+"backup", slipwayv1alpha1.HookHold)
	out, _ := m.run(0, "maintenance", "open", m.name, "node/"+m.node, "backup")
	wantTexts(t, out, "node/"+m.node+": hook backup is open")
	m.annotated(slipwayv1alpha1.HookAnnotationPrefix+"backup", slipwayv1alpha1.HookOpen)
	_, trouble = m.run(1, "done", m.node)
	wantTexts(t, trouble, "does not wait for work on node", "the node is held")
	m.moves(slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	out, _ = m.run(0, "done", m.node)
	wantTexts(t, out, "node/"+m.node+": the work is done\n")
	by := m.env.Kubectl(t, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	m.annotated(slipwayv1alpha1.WorkDoneAnnotation, strings.TrimSpace(by))
	out, _ = m.run(0, "done", m.node)
	wantTexts(t, out, "is done already, by "+by)

	out, _ = m.run(0, "status", m.node)
	wantTexts(t, out, "maintenance "+m.name)
	out, _ = m.run(0, "explain", m.node)
	wantTexts(t, out, fmt.Sprintf("Node %s is out of service for NodeMaintenance %s; 'kubectl slipway maintenance status %s' shows it.", m.node, m.name, m.name))
	_, trouble = m.run(1, "uncordon", m.node)
	wantTexts(t, trouble, "NodeMaintenance "+m.name+" returns node "+m.node+" at the end of its work")
	_, trouble = m.run(0, "drain", m.node, "--dry-run=server")
	wantTexts(t, trouble, "Warning: Node "+m.node+" is out of service for NodeMaintenance "+m.name)
	for line, want := range map[string]string{
		"maintenance status cli-hoo": m.name, "maintenance open " + m.name + " ": m.node, "maintenance open " + m.name + " n b": "backup",
		"maintenance stage " + m.name + " d": "drain", "done " + m.node[:len(m.node)-1]: m.node, "maintain x " + m.node[:len(m.node)-1]: m.node,
	} {
		out, _ = m.run(0, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		wantTexts(t, out, want+"\n")
	}
	_, trouble = m.run(0, "cancel", m.node, "--wait=false")
	wantTexts(t, trouble, "there, it counts as failed")
}

// annotated wants an annotation on the event of the node.
func (m *maintained) annotated(key, want string) {
	m.t.Helper()
	var event lifecyclev1alpha1.LifecycleEvent
	if err := m.env.Client.Get(m.t.Context(), client.ObjectKey{Name: "maintenance-" + m.node}, &event); err != nil {
		m.t.Fatal(err)
	}
	if got := event.Annotations[key]; got != want {
		m.t.Errorf("annotation %s is %q, want %q", key, got, want)
	}
}

func TestWhoMayNotDeleteNodesIsToldWhatToAskFor(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-no-right")
	m.env.Kubectl(t, "create", "clusterrolebinding", "cli-no-right", "--clusterrole=slipway-operator", "--user=cli-nora")
	m.env.Kubectl(t, "create", "clusterrole", "cli-maintains", "--verb=get,list,watch,create,update,patch", "--resource=nodemaintenances.slipway.dev")
	m.env.Kubectl(t, "create", "clusterrolebinding", "cli-maintains", "--clusterrole=cli-maintains", "--user=cli-nora")
	_, trouble := m.run(1, "--as=cli-nora", "maintain", m.name, m.node, "--wait=false")
	wantTexts(t, trouble, "you may not delete nodes", "verb delete on nodes", "The command has created no maintenance")
	m.env.Kubectl(t, "create", "clusterrole", "cli-deletes", "--verb=delete", "--resource=nodes")
	m.env.Kubectl(t, "create", "clusterrolebinding", "cli-deletes", "--clusterrole=cli-deletes", "--user=cli-nora")
	_, trouble = m.run(0, "--as=cli-nora", "maintain", m.name, m.node, "--wait=false")
	wantTexts(t, trouble, "You may not list Nodes, so it is not known which are selected.")
	out, _ := m.run(0, "--as=cli-nora", "maintenance", "status", m.name)
	wantTexts(t, out, m.name+": not begun")
}

func TestADryRunOfAMaintenanceIsWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	m := newMaintained(t, "cli-dry")
	arguments := []string{
		"maintain", m.name, m.node, "--max-unavailable", "20%", "--topology-key", "topology.kubernetes.io/zone", "--per-domain", "2", "--batches",
		"--pause-after", "3", "--failure-threshold", "2", "--max-pending-pods", "0", "--reason", "firmware", "--job", "reboot", "--work-timeout", "30m",
		"--not-before", "+1h", "--deadline", "+6h", "--at-deadline", "cancel", "--hook", "backup@before-drain:30m:proceed", "--hook", "test@before-return",
		"--grace-period", "30", "--pod-timeout", "5m", "--drain-timeout", "1h30m", "--stage", "idle", "-o", "yaml",
	}
	made, _ := m.run(0, append(arguments, "--dry-run=client")...)
	if got := m.env.KubectlWith(t, made, "create", "--dry-run=server", "-f", "-"); !strings.Contains(got, m.name+" created (server dry run)") {
		t.Errorf("kubectl create says %q of\n%s", got, made)
	}
	wantTexts(t, made, "kind: NodeMaintenance", "maxUnavailable: 20%", "timeout: 1h30m0s")
	if strings.Contains(made, "status:") {
		t.Errorf("it has a status:\n%s", made)
	}
	taken, _ := m.run(0, append(arguments, "--dry-run=server")...)
	wantTexts(t, taken, "uid: ", "podTemplate: reboot")
	_, trouble := m.run(1, "maintenance", "status", m.name)
	wantTexts(t, trouble, "there is no NodeMaintenance \""+m.name+"\"")
	_, trouble = m.run(1, "maintain", m.name, m.node, "no-such-node")
	wantTexts(t, trouble, "there is no node \"no-such-node\"")
	_, trouble = m.run(1, "maintain", m.name, "-l", "pool=nowhere")
	wantTexts(t, trouble, "no node has the labels pool=nowhere; the command has created no maintenance")
	out, trouble := m.run(0, "maintain", m.name, "-l", "pool=nowhere", "--dry-run=client")
	wantTexts(t, out, m.name+" created (dry run)")
	wantTexts(t, trouble, "Warning: no node has the labels pool=nowhere")
}
