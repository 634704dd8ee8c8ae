// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// world is an event of node n1, pods and requests. The cache may be behind.
type world struct {
	event    *lifecyclev1alpha1.LifecycleEvent // what there is
	cached   *lifecyclev1alpha1.LifecycleEvent // what the cache has
	behind   bool
	pods     map[string]*corev1.Pod
	requests map[string]*evictionv1alpha1.EvictionRequest
	away     map[string]bool // pods that cannot be read now
	memory   *memory
	now      time.Time
	made     int                                     // requests
	seen     map[lifecyclev1alpha1.PodReference]Seen // of this pass
	gone     bool                                    // confirmed in this pass
}

func newWorld() *world {
	w := &world{
		pods: map[string]*corev1.Pod{}, requests: map[string]*evictionv1alpha1.EvictionRequest{},
		away: map[string]bool{}, now: time.Unix(0, 0),
	}
	w.restart()
	return w
}

// restart forgets what is kept in memory.
func (w *world) restart() {
	w.newPass()
	w.memory = newMemory()
}

func (w *world) newPass() {
	w.seen, w.gone = map[lifecyclev1alpha1.PodReference]Seen{}, false
	if !w.behind {
		w.cached = w.event.DeepCopy()
	}
}

func (w *world) addEvent(phase lifecyclev1alpha1.ClaimStatus) {
	w.event = &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "drain-n1", UID: "e1"}}
	w.event.Spec.BindingNode, w.event.Status.ClaimStatus = "n1", phase
}

func (w *world) askForAll() {
	if w.event != nil {
		w.event.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"mode":"EvictionRequest"}`)}
	}
}

func (w *world) addPod(name, node string, edits ...func(*corev1.Pod)) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("u-" + name)}}
	pod.Spec.NodeName = node
	for _, edit := range edits {
		edit(pod)
	}
	w.pods[name] = pod
}

func reference(name string) lifecyclev1alpha1.PodReference {
	return lifecyclev1alpha1.PodReference{Namespace: "ns", Name: name, UID: types.UID("u-" + name)}
}

// name is what the agent does: these pods, and no others.
func (w *world) name(pods ...string) {
	w.event.Status.LeftToResponders = nil
	for _, p := range pods {
		w.event.Status.LeftToResponders = append(w.event.Status.LeftToResponders, reference(p))
	}
}

func (w *world) facts() Facts {
	f := Facts{UID: "e1", Event: w.cached.DeepCopy(), Confirmed: w.gone, Seen: maps.Clone(w.seen)}
	w.memory.keep(f.UID, f.named())
	f.Notes = w.memory.of(f.UID)
	for _, name := range slices.Sorted(maps.Keys(w.requests)) {
		f.Requests = append(f.Requests, w.requests[name].DeepCopy())
	}
	return f
}

// perform does what the API server and the pass would do.
func (w *world) perform(step Step) error {
	switch s := step.(type) {
	case Confirm:
		if w.event != nil {
			return errUnseen
		}
		w.gone = true
	case Look:
		if w.away[s.Pod.Name] {
			return errors.New("cannot read " + s.Pod.Name)
		}
		pod := w.pods[s.Pod.Name].DeepCopy()
		w.seen[s.Pod] = Seen{Pod: pod, Responders: pod != nil && (wantsAll(w.cached) || pod.Annotations["nobody"] == "")}
	case Refuse:
		w.memory.settle("e1", s.Pod)
	case Wait:
		w.memory.wait("e1", s, w.now)
	case Ask:
		if _, there := w.requests[s.Request.Name]; there {
			return errTaken
		}
		created := s.Request.DeepCopy()
		created.Generation = 1
		w.made++
		created.UID = types.UID(fmt.Sprint("r", w.made))
		w.requests[created.Name] = created
	case Withdraw:
		r := w.requests[s.Request.Name]
		r.Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
		r.Generation++
	case Delete:
		if evicted(s.Request) {
			w.memory.settle("e1", subject(s.Request))
		}
		delete(w.requests, s.Request.Name)
	}
	return nil
}

// answer is what the evictionrequest-controller does: it has seen the request, and says how
// it stands.
func (w *world) answer(pod string, evicted, failed bool, reason string) {
	r := w.requests[nameOf("e1", reference(pod).UID)]
	if r == nil {
		return
	}
	r.Status.ObservedGeneration = new(r.Generation)
	for condition, value := range map[evictionv1alpha1.EvictionConditionType]bool{
		evictionv1alpha1.EvictionConditionTargetEvicted: evicted, evictionv1alpha1.EvictionConditionFailed: failed,
	} {
		status := metav1.ConditionFalse
		if value {
			status = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: string(condition), Status: status, Reason: reason})
	}
}

// pass does steps until there is none, and tells of them.
func (w *world) pass() string {
	w.newPass()
	var out strings.Builder
	tried := newPass()
	for range 100 {
		steps := tried.others(Next(w.facts(), w.now))
		if len(steps) == 0 {
			for _, err := range tried.failures {
				fmt.Fprintln(&out, err)
			}
			return cmp.Or(out.String(), "nothing\n")
		}
		for _, s := range steps {
			fmt.Fprintln(&out, describe(s))
			tried.record(s, w.perform(s))
		}
	}
	return out.String() + "does not settle\n"
}

func describe(step Step) string {
	switch s := step.(type) {
	case Confirm:
		return "ask the server for the event"
	case Look:
		return "look at " + s.Pod.Name
	case Ask:
		return "ask for " + s.Request.Spec.Target.Pod.Name
	case Refuse:
		text := "refuse " + s.Pod.Name + ": " + s.Why
		if s.Lies {
			text += " (the node lies)"
		}
		return text
	case Wait:
		if s.Request != "" {
			return "let " + s.Pod.Name + " rest: all responders have failed"
		}
		return "let " + s.Pod.Name + " rest: nobody responds"
	case Withdraw:
		return "withdraw " + s.Request.Spec.Target.Pod.Name
	case Delete:
		return "delete " + s.Request.Spec.Target.Pod.Name
	default:
		panic(fmt.Sprintf("%T", step))
	}
}
