// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/nodelease"
)

// TestScripts runs the stories in testdata/scripts, and compares all that was decided in them with
// testdata/decisions. Each command does something to the world; then
// everybody works until nobody has anything to do, and what was done is printed: our steps,
// and, indented, those of the agents and of the Job controller.
//
//	nodes NAME... [control-plane] [label=KEY/VALUE] [cordoned]
//	maintain NAME               creates a NodeMaintenance of the YAML that follows; without
//	                            nodeSelector it selects all nodes with label pool=NAME
//	edit NAME                   merges YAML into its spec
//	delete NAME [foreground]    deletes it, and in foreground what it owns
//	force NAME                  it is gone at once, as without its finalizer
//	node NAME refused=BUDGET    it is stuck, for the sake of that budget
//	node NAME slow              its pods take long to end
//	node NAME stuck|unstuck|broken|mended|unready|ready|gone|uncordoned|daemons=PODS|label=KEY/VALUE
//	                            daemon=NAME/PRIORITY: a pod of a DaemonSet with label app=NAME
//	annotate NODE KEY=VALUE     of the event of its drain, or of its return if there is none
//	cancel NODE                 somebody deletes that event
//	template NAME               a PodTemplate
//	guards                      the guards are installed: drains wait at their gate
//	jobs slow|fast              slow: they end when told
//	job NODE complete|fail|delete
//	copy NODE                   somebody copies its Job, with all that stands on it
//	refuse [STEP]               the API server refuses such steps (CreateJob), for the reason that
//	                            follows; without one, it does so no more
//	status NAME                 prints its status
//	starve BUDGET...            of each, a pod finds no node from now on; feed: it finds one
//	leases                      from now on, Slipway takes the leases of nodes
//	lease NODE HOLDER|free      HOLDER has it from now on, whoever had it; for=DURATION: and
//	                            renews it no more
//	budget N                            a NodeAvailabilityBudget allows so many of all nodes out. The guards are not here
//	freeze | thaw               a Freeze of all nodes exists from now on, or no longer. Only work waits for it here
//	hold NODE USER|free         the user holds the node from now on, or returns it
//	pods NAME... [node=N] [of=CONTROLLER]
//	                            there are such pods from now on, and they do not run; run: they do
//	clock DURATION              time passes
//	seen                        prints nodes, events, Jobs
func TestScripts(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "scripts"), func(t *testing.T, path string) {
		w := newWorld()
		w.tape = &tape{statuses: map[types.UID]map[string]string{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "status":
				return w.statusText(d.CmdArgs[0].Key)
			case "seen":
				return w.seen()
			}
			w.tape.command(d.Cmd, d.CmdArgs)
			w.command(t, d)
			return w.settle(true)
		})
		w.tape.check(t, filepath.Join("testdata", "decisions", filepath.Base(path)))
	})
}

func (w *world) command(t *testing.T, d *datadriven.TestData) {
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "nodes":
		w.addNodes(d)
	case "maintain":
		var spec slipwayv1alpha1.NodeMaintenanceSpec
		decode(t, d, &spec)
		if spec.NodeSelector.NodeSelectorTerms == nil {
			spec.NodeSelector = poolSelector(name)
		}
		if spec.Stage == "" {
			spec.Stage = slipwayv1alpha1.StageIdle
		}
		w.addMaintenance(name, spec)
	case "edit":
		decode(t, d, &w.maintenances[name].Spec)
		w.maintenances[name].Generation++
	case "delete":
		w.deleteMaintenance(name)
		if m := w.maintenances[name]; m != nil && d.HasArg("foreground") {
			w.collectOwned(m.UID)
		}
	case "force":
		delete(w.maintenances, name)
	case "node":
		for _, arg := range d.CmdArgs[1:] {
			w.disturb(t, name, arg)
		}
	case "annotate":
		e := w.events[DrainName(name)]
		if e == nil {
			e = w.events[ReturnName(name)]
		}
		e.Annotations[d.CmdArgs[1].Key] = d.CmdArgs[1].Vals[0]
	case "cancel":
		w.deleteEvent(DrainName(name))
	case "template":
		w.templates[name] = &corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}}
	case "guards":
		w.guarded = true
	case "jobs":
		w.slowJobs = name == "slow"
	case "refuse":
		w.refusals[cmp.Or(name, "CreateJob")] = strings.TrimSpace(d.Input)
	case "copy":
		for _, j := range slices.Collect(maps.Values(w.jobs)) {
			if j.Annotations[annotationNode] == name {
				j = j.DeepCopy()
				j.Name, j.UID = "copy-of-"+j.Name, "copy"
				w.jobs[j.Name] = j
			}
		}
	case "job":
		w.endJob(t, name, d.CmdArgs[1].Key)
	case "starve", "feed":
		w.starveOrFeed(d)
	case "leases":
		w.leases = map[string]nodelease.Held{}
	case "freeze", "thaw":
		w.frozen = map[string]string{"freeze": `Freeze "audit": audit`}[d.Cmd]
	case "budget":
		b := &availability.Budget{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
		b.Spec.MaxUnavailable = new(intstr.Parse(name))
		w.availability = []*availability.Budget{b}
	case "hold":
		w.hold(name, d.CmdArgs[1].Key)
	case "lease":
		w.lease(t, d)
	case "pods", "run":
		w.podsThatDoNotRun(d)
	case "clock":
		passed, err := time.ParseDuration(name)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(passed)
	default:
		t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
	}
}

func (w *world) podsThatDoNotRun(d *datadriven.TestData) {
	like := NotReadyPod{Created: w.now}
	var names []string
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "node":
			like.Node = arg.Vals[0]
		case "of":
			like.Controller = types.UID(arg.Vals[0])
		default:
			names = append(names, arg.Key)
		}
	}
	w.notReady = slices.DeleteFunc(w.notReady, func(p NotReadyPod) bool { return slices.Contains(names, p.Name) })
	for _, name := range names {
		if d.Cmd == "pods" {
			like.Name = name
			w.notReady = append(w.notReady, like)
		}
	}
	SortNotReady(w.notReady)
}

func decode(t *testing.T, d *datadriven.TestData, into any) {
	if err := yaml.UnmarshalStrict([]byte(d.Input), into); err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
}

func poolSelector(pool string) corev1.NodeSelector {
	return corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{pool}},
	}}}}
}

func (w *world) addNodes(d *datadriven.TestData) {
	labels, cordoned := map[string]string{}, false
	var names []string
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "control-plane":
			labels[labelControlPlane] = ""
		case "cordoned":
			cordoned = true
		case "label":
			for _, v := range arg.Vals {
				key, value, _ := strings.Cut(v, "/")
				labels[key] = value
			}
		default:
			names = append(names, arg.Key)
		}
	}
	for _, name := range names {
		w.addNode(name, maps.Clone(labels)).node.Spec.Unschedulable = cordoned
	}
}

// disturb is what happens to a node.
func (w *world) disturb(t *testing.T, name string, arg datadriven.CmdArg) {
	n := w.nodes[name]
	switch arg.Key {
	case "stuck", "unstuck":
		n.stuck = arg.Key == "stuck"
	case "refused":
		n.stuck, n.refusedBy = true, arg.Vals[0]
	case "slow":
		n.slow = true
	case "broken", "mended":
		n.broken = arg.Key == "broken"
	case "unready":
		n.node.Status.Conditions[0].Status = corev1.ConditionFalse
	case "ready":
		n.node.Status.Conditions[0].Status = corev1.ConditionTrue
	case "gone":
		delete(w.nodes, name)
	case "uncordoned":
		n.node.Spec.Unschedulable = false
	case "cordoned":
		n.node.Spec.Unschedulable = true
	case "daemons":
		n.unready = slices.DeleteFunc(arg.Vals, func(v string) bool { return v == "none" })
	case "daemon":
		n.runs(arg.Vals[0])
	case "pod":
		n.pods = append(n.pods, 0)
	case "label":
		key, value, _ := strings.Cut(arg.Vals[0], "/")
		n.node.Labels[key] = value
	default:
		t.Fatalf("no such thing: %s", arg.Key)
	}
}

func (w *world) endJob(t *testing.T, node, how string) {
	for _, j := range w.jobs {
		if j.Annotations[annotationNode] != node || finishedAs(j) != nil {
			continue
		}
		switch how {
		case "complete":
			finishJob(j, batchv1.JobComplete, "", "")
		case "fail":
			finishJob(j, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
		case "late":
			finishJob(j, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
		case "delete":
			delete(w.jobs, j.Name)
		case "lost": // its pod cannot end, as its node does not come back
			finishJob(j, batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
		}
		return
	}
	t.Fatalf("no Job is running on %s", node)
}

// refusesStill says whether the step has been tried, and would be refused again.
func (w *world) refusesStill(step Step) bool {
	why := w.refusals[kindOf(step)]
	return why != "" && w.refused[Key(step)] == why
}

// forget has no refusals of steps that nobody wants to do any more.
func (w *world) forget(steps []Step) {
	maps.DeleteFunc(w.refused, func(key, _ string) bool {
		return !slices.ContainsFunc(steps, func(step Step) bool { return Key(step) == key })
	})
}

// settle lets everybody work until nobody has anything to do.
func (w *world) settle(loud bool) string {
	var out strings.Builder
	for range 300 {
		quiet := true
		decision := Next(w.facts(), w.now)
		if w.tape != nil {
			w.tape.decided(decision)
		}
		w.forget(decision.Steps)
		for _, step := range decision.Steps {
			if w.refusesStill(step) {
				continue // it is tried again, later and later
			}
			fmt.Fprintln(&out, describe(step))
			w.perform(step)
			quiet = false
		}
		for uid, status := range decision.Statuses {
			w.writeStatus(uid, status)
			quiet = false
		}
		for _, what := range w.others() {
			fmt.Fprintln(&out, "    "+what)
			quiet = false
		}
		if quiet {
			if !decision.Wake.IsZero() {
				fmt.Fprintf(&out, "until %s\n", decision.Wake.Sub(epoch))
			}
			if out.Len() == 0 {
				return "nothing\n"
			}
			return out.String()
		}
	}
	return out.String() + "does not settle\n"
}

func (w *world) statusText(name string) string {
	m := w.maintenances[name]
	if m == nil {
		return "gone\n"
	}
	var out strings.Builder
	s := m.Status
	fmt.Fprintf(&out, "%s\n", s.Message)
	c := s.Nodes
	fmt.Fprintf(&out, "selected %d: waiting %d, out %d (drained %d), returned %d, failed %d\n", c.Selected, c.Waiting, c.Out, c.Drained, c.Returned, c.Failed)
	for _, stage := range s.StageStatuses {
		fmt.Fprintf(&out, "%s since %s\n", stage.Name, stage.StartTimestamp.Sub(epoch))
	}
	for _, n := range s.NodeStatuses {
		fmt.Fprintf(&out, "- %s %s %s", n.Name, n.Phase, n.Reason)
		if n.PodsEvacuating > 0 {
			fmt.Fprintf(&out, " [%d pods]", n.PodsEvacuating)
		}
		if n.Message != "" {
			fmt.Fprintf(&out, " (%s)", n.Message)
		}
		if n.Since != nil {
			fmt.Fprintf(&out, " since %s", n.Since.Sub(epoch))
		}
		out.WriteString("\n")
	}
	if d := s.DrainStatus; d != nil {
		fmt.Fprintf(&out, "drain: %d pods pending; %s\n", d.PodsPending, d.DrainMessage)
	}
	out.WriteString(conditionText(s.Conditions))
	return out.String()
}

// seen is what there is.
func (w *world) seen() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		fmt.Fprintf(&out, "%s: %d pods", name, len(n.pods))
		if n.node.Spec.Unschedulable {
			out.WriteString(", cordoned")
		}
		if len(n.records) > 0 {
			out.WriteString(", records" + recordText(n.records))
		}
		out.WriteString(n.daemonsText() + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		fmt.Fprintf(&out, "event %s: %s\n", name, w.events[name].Status.ClaimStatus)
	}
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		fmt.Fprintf(&out, "Job %s\n", name)
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}
