// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

const (
	theNode  = "w1"
	delayMax = 5 * time.Minute
	agents   = lifecyclev1alpha1.ClaimProtectionFinalizer
)

// world is a machine with its logind, and an API server with its Node and events. The agent
// and its drains are the test's.
type world struct {
	epoch, now time.Time
	delay      time.Duration // how long logind lets itself be delayed
	skew       time.Duration // by how much the machine's clock is ahead of all others
	boots      int
	preparing  bool
	stopping   bool      // systemd stops the machine
	locked     bool      // a process of ours has a lock
	begun      time.Time // as slipway-host remembers it
	hostRuns   bool
	away       bool // nobody leads among the controllers
	node       *corev1.Node
	cordoned   []cordons.Owner
	events     map[string]*lifecyclev1alpha1.LifecycleEvent
	serial     int
}

func newWorld() *world {
	epoch := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	w := &world{epoch: epoch, now: epoch, delay: delayMax, hostRuns: true, events: map[string]*lifecyclev1alpha1.LifecycleEvent{}}
	w.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: theNode, UID: "n", Annotations: map[string]string{DelayAnnotation: delayMax.String()},
	}}
	w.boot()
	w.setReady(true)
	return w
}

// machineNow is what the machine's clock says.
func (w *world) machineNow() time.Time { return w.now.Add(w.skew) }

func (w *world) bootID() string { return fmt.Sprintf("boot%d", w.boots) }

// boot is that of the machine: of what was going on there, nothing is left. The kubelet says
// so at once, and is Ready later.
func (w *world) boot() {
	w.boots++
	w.preparing, w.stopping, w.locked, w.begun, w.hostRuns = false, false, false, time.Time{}, true
	if w.node != nil {
		w.setReady(false)
		w.node.Status.NodeInfo.BootID = w.bootID()
	}
}

func (w *world) setReady(is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	w.mark([]corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}})
}

// mark sets conditions. The Node is replaced by a changed copy: facts that were taken stay.
func (w *world) mark(conditions []corev1.NodeCondition) {
	w.node = w.node.DeepCopy()
	for _, c := range conditions {
		w.node.Status.Conditions = slices.DeleteFunc(w.node.Status.Conditions, func(have corev1.NodeCondition) bool { return have.Type == c.Type })
		w.node.Status.Conditions = append(w.node.Status.Conditions, c)
	}
}

func (w *world) annotate(key, value string) {
	w.node = w.node.DeepCopy()
	metav1.SetMetaDataAnnotation(&w.node.ObjectMeta, key, value)
}

func (w *world) shutdown() {
	if !w.preparing {
		w.preparing = true
		if w.hostRuns {
			w.begun = w.machineNow()
		}
	}
}

func (w *world) callOff() { w.preparing, w.stopping, w.begun = false, false, time.Time{} }

// hostFacts are those on the machine; nil while nobody of ours is there.
func (w *world) hostFacts() *HostFacts {
	if !w.hostRuns {
		return nil
	}
	f := &HostFacts{
		BootID: w.bootID(), Preparing: w.preparing, Stopping: w.stopping, Begun: w.begun, DelayMax: w.delay, Locked: w.locked,
	}
	if w.node != nil {
		f.Node = w.node.DeepCopy()
		f.Node.Spec.Unschedulable = len(w.cordoned) > 0
	}
	return f
}

func (w *world) facts() Facts {
	f := Facts{NodeName: theNode, Node: w.node}
	if w.node != nil {
		f.Node = w.node.DeepCopy()
		text, err := json.Marshal(cordons.Record{Owners: w.cordoned})
		if err != nil {
			panic(err)
		}
		metav1.SetMetaDataAnnotation(&f.Node.ObjectMeta, cordons.Annotation, string(text))
	}
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		f.Events = append(f.Events, w.events[name])
	}
	return f
}

// event is that of our shutdowns which is there; nil, if none is.
func (w *world) event() *lifecyclev1alpha1.LifecycleEvent {
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		if w.events[name].Spec.TransitionName == Transition {
			return w.events[name]
		}
	}
	return nil
}

func (w *world) add(e *lifecyclev1alpha1.LifecycleEvent) {
	w.serial++
	e = e.DeepCopy()
	e.UID, e.Generation, e.CreationTimestamp = types.UID(fmt.Sprintf("uid%d", w.serial)), 1, metav1.NewTime(w.now)
	e.Status.ClaimStatus = lifecyclev1alpha1.Pending
	w.events[e.Name] = e
}

// change replaces an event by a changed copy; it is gone once it is deleted and nobody holds it.
func (w *world) change(e *lifecyclev1alpha1.LifecycleEvent, f func(*lifecyclev1alpha1.LifecycleEvent)) {
	changed := e.DeepCopy()
	f(changed)
	w.events[e.Name] = changed
	if changed.DeletionTimestamp != nil && len(changed.Finalizers) == 0 {
		delete(w.events, e.Name)
	}
}

func (w *world) deleteEvent(e *lifecyclev1alpha1.LifecycleEvent) {
	w.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: w.now} })
}

// claim is what the agent does with an event of ours that waits: it cordons, and drains.
func (w *world) claim() {
	e := w.event()
	if e == nil || e.Status.ClaimStatus != lifecyclev1alpha1.Pending || e.DeletionTimestamp != nil {
		return
	}
	w.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
		e.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: theNode}
		e.Finalizers = append(e.Finalizers, agents)
	})
	w.cordoned = append(w.cordoned, cordons.Owner{Event: e.Name, UID: e.UID})
}

// end is how the agent ends it; one that was deleted, it has canceled: the cordon goes.
func (w *world) end(phase lifecyclev1alpha1.ClaimStatus) {
	e := w.event()
	if e == nil || e.Status.ClaimStatus != lifecyclev1alpha1.Claimed {
		return
	}
	if e.DeletionTimestamp != nil {
		phase = lifecyclev1alpha1.Failed
		w.uncordon(e.UID)
	}
	message := fmt.Sprintf("event %s (UID %s)", e.Name, e.UID)
	if w.node != nil && phase == lifecyclev1alpha1.Succeeded {
		w.mark([]corev1.NodeCondition{
			{Type: corev1.NodeDrained, Status: corev1.ConditionTrue, Message: message},
			{Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionTrue, Reason: StateShuttingDown, Message: "Lifecycle Transition '" + Transition + "'"},
		})
	}
	w.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Status.ClaimStatus = phase
		e.Finalizers = slices.DeleteFunc(e.Finalizers, func(f string) bool { return f == agents })
		e.DeletionTimestamp = &metav1.Time{Time: w.now}
	})
}

func (w *world) uncordon(uid types.UID) {
	w.cordoned = slices.DeleteFunc(slices.Clone(w.cordoned), func(o cordons.Owner) bool { return o.UID == uid })
}

// maintain adds an event of a maintenance that keeps the node empty up to a priority.
func (w *world) maintain(transition, parameters string, reached bool) {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "maintenance-w1"}}
	e.Spec.TransitionName = transition
	e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
	w.add(e)
	w.change(w.events[e.Name], func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Status.ClaimStatus, e.Status.ObservedGeneration = lifecyclev1alpha1.Claimed, e.Generation
	})
	w.cordoned = append(w.cordoned, cordons.Owner{Event: e.Name, UID: w.events[e.Name].UID})
	if reached {
		w.reached()
	}
}

// reached is that the drain of the maintenance has got to its end.
func (w *world) reached() {
	w.change(w.events["maintenance-w1"], func(e *lifecyclev1alpha1.LifecycleEvent) {
		apimeta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{Type: lifecyclev1alpha1.ConditionTargetsReached, Status: metav1.ConditionTrue})
	})
}

// applyHost does a step as slipway-host does it.
func (w *world) applyHost(step HostStep) string {
	switch s := step.(type) {
	case TakeLock:
		w.locked = true
		return "host: take the lock"
	case ReportDelay:
		w.annotate(DelayAnnotation, s.Delay.String())
		return "host: logind waits for " + s.Delay.String()
	case Announce:
		text, err := s.Announcement.Text()
		if err != nil {
			panic(err)
		}
		w.annotate(Annotation, text)
		w.mark([]corev1.NodeCondition{s.Condition})
		return fmt.Sprintf("host: announce %s, until t+%s", s.Announcement.BootID, s.Announcement.Until.Sub(w.epoch).Round(time.Second))
	case Withdraw:
		w.node = w.node.DeepCopy()
		delete(w.node.Annotations, Annotation)
		w.mark([]corev1.NodeCondition{s.Condition})
		return "host: withdraw"
	case ReleaseLock:
		w.locked = false
		return "host: let the machine go"
	default:
		panic(fmt.Sprintf("unknown step %T", step))
	}
}

// apply does a step as the controller does it.
func (w *world) apply(step Step) string {
	switch s := step.(type) {
	case Create:
		if _, there := w.events[s.Event.Name]; there {
			panic("two events of one name")
		}
		w.add(s.Event)
		return fmt.Sprintf("create %s sla=%s", w.short(s.Event), s.Event.Spec.SLA.Duration)
	case Cancel:
		w.deleteEvent(s.Event)
		return "cancel " + w.short(s.Event)
	case Note:
		text, err := s.Drain.Text()
		if err != nil {
			panic(err)
		}
		w.annotate(DrainAnnotation, text)
		return fmt.Sprintf("note %s %s", s.Drain.UID, s.Drain.Outcome)
	case LetGo:
		w.change(s.Event, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Finalizers = slices.DeleteFunc(e.Finalizers, func(f string) bool { return f == Finalizer })
		})
		return "let go " + w.short(s.Event)
	case Return:
		w.uncordon(s.UID)
		w.mark(s.Conditions)
		for _, key := range s.Forget {
			delete(w.node.Annotations, key)
		}
		return strings.Join(strings.Fields("return "+string(s.UID)+" "+said(s.Conditions)), " ")
	default:
		panic(fmt.Sprintf("unknown step %T", step))
	}
}

// short is an event's name without what tells it from others.
func (w *world) short(e *lifecyclev1alpha1.LifecycleEvent) string {
	return e.Name[:strings.LastIndex(e.Name, "-")]
}

func said(conditions []corev1.NodeCondition) string {
	var texts []string
	for _, c := range conditions {
		message := c.Message
		if at := strings.Index(message, "shutdown-w1-"); at >= 0 {
			message = strings.Replace(message, message[at:at+len("shutdown-w1-00000000")], "shutdown-w1", 1)
		}
		texts = append(texts, fmt.Sprintf("%s=%s %s (%s)", c.Type, c.Status, c.Reason, message))
	}
	return strings.Join(texts, "; ")
}
