// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/nodelease"
)

var epoch = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster: what the API server keeps. Agents, Job controller and kubelets are in
// agent_test.go.
type world struct {
	now          time.Time
	maintenances map[string]*slipwayv1alpha1.NodeMaintenance
	nodes        map[string]*machine
	events       map[string]*lifecyclev1alpha1.LifecycleEvent
	jobs         map[string]*batchv1.Job
	templates    map[string]*corev1.PodTemplate
	notReady     []NotReadyPod
	uids         int
	// ran is how often each Job ran, by its name.
	ran map[string]int
	// shared are the events that were for several maintenances at some time.
	shared map[types.UID]bool
	// told are the core Events.
	told []string
	// idle: the Job controller does nothing by itself.
	slowJobs bool
	// refusals are why steps of a kind cannot be done, and refused are those that were not.
	refusals, refused map[string]string
	// guarded: the guards are installed.
	guarded bool
	// starved are budgets of which pods find no node, since when.
	starved map[string]time.Time
	// frozen is the Freeze of all nodes. Empty: none.
	frozen string
	// availability are the NodeAvailabilityBudgets of all nodes.
	availability []*availability.Budget
	// held are the users that hold nodes.
	held map[string]string
	// leases are who has those of nodes, if Slipway takes them.
	leases map[string]nodelease.Held
	// tape is what was decided, where a script wants to know.
	tape *tape
}

// machine is a node, and what is on it.
type machine struct {
	node        *corev1.Node
	cordonedFor []types.UID
	before      bool // it was cordoned before
	records     []Record
	pods        []int32 // the priorities of those that can leave
	slow        bool    // its pods take long to end
	stuck       bool    // no pod leaves
	refusedBy   string  // the budget that keeps them then
	broken      bool    // its returns fail
	failed      bool    // the last one has
	unready     []string
	daemons     []*daemonPod
}

func newWorld() *world {
	return &world{
		now: epoch, maintenances: map[string]*slipwayv1alpha1.NodeMaintenance{}, nodes: map[string]*machine{},
		events: map[string]*lifecyclev1alpha1.LifecycleEvent{}, jobs: map[string]*batchv1.Job{}, refused: map[string]string{}, refusals: map[string]string{},
		templates: map[string]*corev1.PodTemplate{}, ran: map[string]int{}, shared: map[types.UID]bool{}, starved: map[string]time.Time{},
	}
}

func (w *world) uid(of string) types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("%s-%d", of, w.uids))
}

func (w *world) addNode(name string, labels map[string]string) *machine {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: w.uid(name), Labels: labels}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	m := &machine{node: n, pods: []int32{0}}
	w.nodes[name] = m
	return m
}

func (w *world) addMaintenance(name string, spec slipwayv1alpha1.NodeMaintenanceSpec) *slipwayv1alpha1.NodeMaintenance {
	m := &slipwayv1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: w.uid(name), Generation: 1, CreationTimestamp: metav1.NewTime(w.now)},
		Spec:       spec,
	}
	w.maintenances[name] = m
	return m
}

// facts are copies: what Next would change shows nowhere.
func (w *world) facts() Facts {
	f := Facts{
		JobNamespace: "slipway-system-jobs", Templates: w.templates, NotReady: slices.Clone(w.notReady), Refused: maps.Clone(w.refused),
		Leases: w.leases != nil, Availability: w.availability,
	}
	for _, name := range slices.Sorted(maps.Keys(w.maintenances)) {
		f.Maintenances = append(f.Maintenances, w.maintenances[name].DeepCopy())
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		f.Nodes = append(f.Nodes, Node{
			Node: n.node.DeepCopy(), CordonedFor: slices.Clone(n.cordonedFor), Records: slices.Clone(n.records),
			Checked: true, Unready: slices.Clone(n.unready), CordonedBefore: n.before,
			Lease: w.leases[name], HeldBy: w.heldBy(name), Frozen: w.frozen,
		})
	}
	f.KeptAway = w.keptAway()
	w.starve(&f)
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		f.Events = append(f.Events, w.events[name].DeepCopy())
	}
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		f.Jobs = append(f.Jobs, w.jobs[name].DeepCopy())
	}
	return f
}

// perform does a step as the API server would have it: what has changed since it was seen
// is not written.
func (w *world) perform(step Step) {
	delete(w.refused, Key(step))
	if why := w.refusals[kindOf(step)]; why != "" {
		w.refused[Key(step)] = why
		return
	}
	switch s := step.(type) {
	case CreateEvent:
		if w.events[s.Event.Name] == nil {
			e := s.Event.DeepCopy()
			e.UID, e.Generation, e.CreationTimestamp = w.uid(e.Name), 1, metav1.NewTime(w.now)
			w.admit(e)
			w.events[e.Name] = e
			drain := w.events[DrainName(e.Spec.BindingNode)]
			w.shared[e.UID] = len(Refs(e)) > 1 || drain != nil && w.shared[drain.UID]
		}
	case ChangeEvent:
		if e := w.events[s.Seen.Name]; e != nil && e.UID == s.Seen.UID {
			if !equality.Semantic.DeepEqual(e.Spec, s.Changed.Spec) {
				e.Generation++
			}
			e.Spec, e.Annotations, e.Finalizers = *s.Changed.Spec.DeepCopy(), maps.Clone(s.Changed.Annotations), slices.Clone(s.Changed.Finalizers)
			w.shared[e.UID] = w.shared[e.UID] || len(Refs(e)) > 1 || Refs(s.Seen)[0].UID != Refs(e)[0].UID
			w.collect(e)
		}
	case DeleteEvent:
		w.deleteEvent(s.Event.Name)
	case CreateJob:
		if w.jobs[s.Job.Name] == nil {
			j := s.Job.DeepCopy()
			j.UID, j.CreationTimestamp = w.uid(j.Name), metav1.NewTime(w.now)
			w.jobs[j.Name] = j
			w.ran[j.Name]++
		}
	case DeleteJob:
		delete(w.jobs, s.Job.Name)
	case RecordOnNode:
		if n := w.nodes[s.Node]; n != nil {
			n.records = slices.Clone(s.Records)
		}
	case MarkNode:
		if n := w.nodes[s.Node]; n != nil {
			n.mark(s.Conditions)
		}
	case KeepAway, LetBack, Lift:
		w.performKeptAway(step)
	case ChangeMaintenance:
		w.changeMaintenance(s)
	case Tell:
		w.told = append(w.told, s.About.Name+": "+s.Reason+": "+s.Message)
	}
}

// kindOf is the kind of a step, by its name.
func kindOf(step Step) string { return reflect.TypeOf(step).Name() }

func (n *machine) mark(conditions []corev1.NodeCondition) {
	for _, c := range conditions {
		n.node.Status.Conditions = slices.DeleteFunc(n.node.Status.Conditions, func(have corev1.NodeCondition) bool { return have.Type == c.Type })
		n.node.Status.Conditions = append(n.node.Status.Conditions, c)
	}
}

func (w *world) changeMaintenance(s ChangeMaintenance) {
	m := w.maintenances[s.Seen.Name]
	if m == nil || m.UID != s.Seen.UID {
		return
	}
	if !equality.Semantic.DeepEqual(m.Spec, s.Changed.Spec) {
		m.Generation++
	}
	m.Spec, m.Finalizers = *s.Changed.Spec.DeepCopy(), slices.Clone(s.Changed.Finalizers)
	w.collectMaintenance(m)
}

func (w *world) collectMaintenance(m *slipwayv1alpha1.NodeMaintenance) {
	if m.DeletionTimestamp == nil || len(m.Finalizers) > 0 {
		return
	}
	delete(w.maintenances, m.Name)
	w.collectOwned(m.UID)
}

// collectOwned is what the garbage collector does when an owner is gone; or when it is
// deleted in foreground, as soon as it is.
func (w *world) collectOwned(owner types.UID) {
	maps.DeleteFunc(w.jobs, func(_ string, j *batchv1.Job) bool {
		return slices.ContainsFunc(j.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner })
	})
}

func (w *world) deleteMaintenance(name string) {
	m := w.maintenances[name]
	m.DeletionTimestamp = &metav1.Time{Time: w.now}
	w.collectMaintenance(m)
}

func (w *world) deleteEvent(name string) {
	if e := w.events[name]; e != nil && e.DeletionTimestamp == nil {
		e.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.collect(e)
	}
}

func (w *world) collect(e *lifecyclev1alpha1.LifecycleEvent) {
	if e.DeletionTimestamp != nil && len(e.Finalizers) == 0 {
		delete(w.events, e.Name)
	}
}

func (w *world) writeStatus(uid types.UID, status slipwayv1alpha1.NodeMaintenanceStatus) {
	for _, m := range w.maintenances {
		if m.UID == uid {
			m.Status = *status.DeepCopy()
		}
	}
}

// describe is a step in a line, in the order in which one reads it.
func describe(step Step) string {
	switch s := step.(type) {
	case CreateEvent:
		return fmt.Sprintf("create event %s for %s%s", s.Event.Name, forNames(s.Event), eventText(s.Event))
	case ChangeEvent:
		return fmt.Sprintf("change event %s%s", s.Seen.Name, changeText(s))
	case DeleteEvent:
		return "delete event " + s.Event.Name
	case CreateJob:
		return fmt.Sprintf("create Job for %s of %s", s.Job.Annotations[annotationNode], s.Job.Annotations[annotationName])
	case DeleteJob:
		return "delete Job of " + s.Job.Annotations[annotationNode]
	case RecordOnNode:
		return "record on " + s.Node + ":" + recordText(s.Records)
	case MarkNode:
		return "mark " + s.Node + ":" + markText(s.Conditions)
	case KeepAway:
		return fmt.Sprintf("%s keeps away %q", s.Node, s.Which)
	case LetBack:
		return s.Node + " lets back"
	case Lift:
		return "lift the gate of " + s.Pod.Name
	case ChangeMaintenance:
		return fmt.Sprintf("change %s: stage %s, finalizers %d", s.Seen.Name, s.Changed.Spec.Stage, len(s.Changed.Finalizers))
	case Tell:
		return fmt.Sprintf("tell about %s: %s: %s", s.About.Name, s.Reason, s.Message)
	default:
		return fmt.Sprintf("%T", step)
	}
}

func forNames(e *lifecyclev1alpha1.LifecycleEvent) string {
	var names []string
	for _, f := range Refs(e) {
		name := f.Name
		if f.Released {
			name += " (released)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func eventText(e *lifecyclev1alpha1.LifecycleEvent) string {
	if e.Labels[slipwayv1alpha1.MaintenanceEventLabel] != LabelDrain {
		return ""
	}
	text := ", targets " + targetsText(e)
	if gated(e) {
		text += ", gated"
	}
	if leaseGated(e) {
		text += ", leased"
	}
	return text + allowText(", allow ", nil, e.Spec.Allow)
}

// allowText are the guards that are allowed now, and were not before.
func allowText(before string, had, have []lifecyclev1alpha1.Guard) string {
	var added []string
	for _, guard := range have {
		if !slices.Contains(had, guard) {
			added = append(added, string(guard))
		}
	}
	if len(added) == 0 {
		return ""
	}
	return before + strings.Join(added, ", ")
}

func targetsText(e *lifecyclev1alpha1.LifecycleEvent) string {
	targets := targetsOf(e)
	if targets == nil {
		return "none"
	}
	var all []string
	for _, t := range targets {
		text := string(t.PodType)
		if t.PodPriority != nil {
			text += fmt.Sprintf(" %d", *t.PodPriority)
		}
		if t.PodSelector != nil {
			text += " " + metav1.FormatLabelSelector(t.PodSelector)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func changeText(s ChangeEvent) string {
	var all []string
	if len(s.Seen.Finalizers) != len(s.Changed.Finalizers) {
		all = append(all, "let go")
	}
	if gated(s.Seen) && !gated(s.Changed) {
		all = append(all, "open the gate")
	}
	if !equality.Semantic.DeepEqual(targetsOf(s.Seen), targetsOf(s.Changed)) {
		all = append(all, "targets "+targetsText(s.Changed))
	}
	if text := allowText("allow ", s.Seen.Spec.Allow, s.Changed.Spec.Allow); text != "" {
		all = append(all, text)
	}
	if ParametersOf(s.Seen).Hold && !ParametersOf(s.Changed).Hold {
		all = append(all, "do not hold")
	}
	if forNames(s.Seen) != forNames(s.Changed) {
		all = append(all, "for "+forNames(s.Changed))
	}
	if len(all) == 0 {
		return ": annotations or parameters"
	}
	return ": " + strings.Join(all, "; ")
}

func recordText(records []Record) string {
	text := ""
	for _, r := range records {
		text += fmt.Sprintf(" %s %s", strings.Split(string(r.UID), "-")[0], r.State)
		if r.Reason != "" {
			text += fmt.Sprintf(" (%s: %s)", r.Reason, r.Message)
		}
	}
	if text == "" {
		return " nothing"
	}
	return text
}

func markText(conditions []corev1.NodeCondition) string {
	text := ""
	for _, c := range conditions {
		text += fmt.Sprintf(" %s=%s", c.Type, c.Status)
		if c.Reason != ReasonNoMaintenance && c.Reason != ReasonAdminRequested {
			text += " " + c.Reason
		}
		if c.Message != "" {
			text += " (" + c.Message + ")"
		}
	}
	return text
}

func conditionText(conditions []metav1.Condition) string {
	var text strings.Builder
	for _, kind := range []string{slipwayv1alpha1.MaintenanceAccepted, slipwayv1alpha1.MaintenanceProgressing, slipwayv1alpha1.MaintenanceDrained, slipwayv1alpha1.MaintenanceCompleted} {
		c := apimeta.FindStatusCondition(conditions, kind)
		if c == nil {
			continue
		}
		fmt.Fprintf(&text, "  %s %s %s", kind, c.Status, c.Reason)
		if c.Message != "" {
			text.WriteString(": " + c.Message)
		}
		text.WriteString("\n")
	}
	return text.String()
}
