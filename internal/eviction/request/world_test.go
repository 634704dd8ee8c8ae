// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var epoch = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a namespace with one pod's name in it.
type world struct {
	now       time.Time
	pod       *corev1.Pod
	requests  map[string]*evictionv1alpha1.EvictionRequest
	evictions map[string]*evictionv1alpha1.Eviction
	uid       types.UID // of the target
	tape      []asked
	extra     []corev1.EvictionResponder
	unseen    bool                    // the pod is gone, and the cache shows it still
	ended     map[types.UID]time.Time // when the targets were first seen deleted or completed
	// behind are the requests that a cache shows still; nil for those that there are. before
	// are those of earlier: of before the last command of a script.
	behind, before map[string]*evictionv1alpha1.EvictionRequest

	// mortal: the controller does what is left of steps, and no more.
	mortal bool
	left   int
}

func newWorld() *world {
	return &world{
		now: epoch, uid: uid("u1"), ended: map[types.UID]time.Time{},
		requests: map[string]*evictionv1alpha1.EvictionRequest{}, evictions: map[string]*evictionv1alpha1.Eviction{},
	}
}

// uid is the UID that scripts call u1 and so on. The server wants them to look as they do.
func uid(name string) types.UID {
	return types.UID("00000000-0000-4000-8000-00000000000" + strings.TrimPrefix(name, "u"))
}

// facts are those of the target that was asked for last. confirm is what the server was asked
// for with the step before; nil for nothing.
func (w *world) facts(confirm *Confirm) Facts {
	f := Facts{
		Target: Target{Namespace: "ns", Name: "p", UID: w.uid},
		Pod:    w.pod.DeepCopy(), Confirmed: confirm != nil, Extra: w.extra,
		RequestsConfirmed: confirm != nil && len(confirm.Requests) > 0,
	}
	if f.Confirmed && w.unseen {
		f.Pod = nil
	}
	requests := w.requests
	if w.behind != nil && !f.RequestsConfirmed {
		requests = w.behind
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if r := requests[name]; r.Spec.Target.Pod.UID == w.uid {
			f.Requests = append(f.Requests, r.DeepCopy())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.evictions)) {
		if e := w.evictions[name]; e.Spec.Target.Pod.UID == w.uid {
			f.Evictions = append(f.Evictions, e.DeepCopy())
			continue
		}
		f.Taken = append(f.Taken, name)
	}
	if _, known := w.ended[w.uid]; !known && f.HasEnded() {
		w.ended[w.uid] = w.now
	} else if !f.HasEnded() {
		delete(w.ended, w.uid)
	}
	f.Ended = w.ended[w.uid]
	return f
}

func (w *world) copyOfRequests() map[string]*evictionv1alpha1.EvictionRequest {
	all := map[string]*evictionv1alpha1.EvictionRequest{}
	for name, r := range w.requests {
		all[name] = r.DeepCopy()
	}
	return all
}

// errStale is how a write ends of what another one has written since.
var errStale = errors.New("it has changed since")

// asks is what the step asks the server for; nil for nothing.
func asks(step Step) *Confirm {
	if confirm, is := step.(Confirm); is {
		return &confirm
	}
	return nil
}

func (w *world) perform(step Step) error {
	switch s := step.(type) {
	case Confirm:
	case Create:
		if _, taken := w.evictions[s.Eviction.Name]; taken {
			return fmt.Errorf("%s is there already", s.Eviction.Name)
		}
		w.create(s.Eviction)
	case Adopt:
		e := w.evictions[s.Eviction.Name]
		e.Labels, e.OwnerReferences = s.Labels, s.Owners
		w.wrote(verbUpdate, e, nil)
	case WriteEviction:
		return w.writeStatus(w.evictions[s.Eviction.Name], s.Status)
	case WriteRequest:
		r := w.requests[s.Request.Name]
		if !cmp.Equal(s.Request, r) {
			return errStale
		}
		r.Status = s.Status
		w.wrote(verbUpdateStatus, r, nil)
	case Delete:
		w.wrote(verbDelete, s.Eviction, nil)
		delete(w.evictions, s.Eviction.Name)
	}
	return nil
}

// writeStatus writes the status of an Eviction, if the server lets it.
func (w *world) writeStatus(e *evictionv1alpha1.Eviction, status evictionv1alpha1.EvictionStatus) error {
	err := admit(e.Status, status, w.now)
	changed := e.DeepCopy()
	changed.Status = status
	w.wrote(verbUpdateStatus, changed, err)
	if err == nil {
		e.Status = status
	}
	return err
}

func (w *world) create(e *evictionv1alpha1.Eviction) {
	w.wrote(verbCreate, e, nil)
	created := e.DeepCopy()
	created.CreationTimestamp, created.Generation = metav1.NewTime(w.now), 1
	w.evictions[created.Name] = created
}

func (w *world) addPod(name, responders, annotation string, group bool) error {
	w.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: uid(name)}}
	if group {
		w.pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{}
	}
	if annotation != "" {
		w.pod.Annotations = map[string]string{AnnotationResponders: annotation}
	}
	if responders == "" {
		return nil
	}
	all, err := parse(responders)
	w.pod.Spec.EvictionResponders = all
	return err
}

func (w *world) ask(name, requester, target string, withdrawn bool) {
	w.uid = uid(target)
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("r-" + name), Generation: 1}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: "p", UID: w.uid}
	r.Spec.Requester, r.Spec.Intent = requester, evictionv1alpha1.EvictionRequestIntentEviction
	if withdrawn {
		r.Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
	}
	w.requests[name] = r
	w.wrote(verbCreate, r, nil)
}

// takeBack deletes a request.
func (w *world) takeBack(name string) {
	if r := w.requests[name]; r != nil {
		w.wrote(verbDelete, r, nil)
		delete(w.requests, name)
	}
}

func (w *world) intent(name string, intent evictionv1alpha1.EvictionRequestIntent) {
	if r := w.requests[name]; r.Spec.Intent != intent {
		r.Spec.Intent = intent
		r.Generation++
		w.wrote(verbUpdate, r, nil)
	}
}

func (w *world) foreign(name string) {
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: "p", UID: w.uid}
	w.create(e)
}

// respond does what a responder does, under the server's rules.
func (w *world) respond(name string, heartbeat, complete bool, message string) error {
	for _, e := range w.evictions {
		if hasEnded(e) {
			continue
		}
		status := *e.Status.DeepCopy()
		own := statusOf(&status, name)
		if heartbeat {
			own.HeartbeatTime = notBefore(own.StartTime, w.now)
		}
		if complete {
			own.CompletionTime = notBefore(own.StartTime, w.now)
		}
		if message != "" {
			own.Message = &message
		}
		return w.writeStatus(e, status)
	}
	return errors.New("there is no Eviction")
}

func (w *world) show() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.evictions)) {
		fmt.Fprintf(&out, "%s: %s\n", name, evictionText(&w.evictions[name].Status))
	}
	for _, name := range slices.Sorted(maps.Keys(w.requests)) {
		fmt.Fprintf(&out, "%s: %s\n", name, conditionsText(w.requests[name].Status.Conditions))
	}
	return out.String()
}

func evictionText(s *evictionv1alpha1.EvictionStatus) string {
	var parts []string
	for _, i := range inTurnOf(s.TargetResponders) {
		r := s.TargetResponders[i]
		text := fmt.Sprintf("%s(%d) %s", r.Name, *r.Priority, r.State)
		if own := statusOf(s, r.Name); own.CompletionTime != nil {
			text += " done at " + own.CompletionTime.Sub(epoch).String()
		}
		parts = append(parts, text)
	}
	for _, r := range s.Requesters {
		parts = append(parts, r.Name+" wants "+string(r.Intent))
	}
	return strings.Join(append(parts, conditionsText(s.Conditions)), "; ")
}

func conditionsText(all []metav1.Condition) string {
	var parts []string
	for _, c := range all {
		text := fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			text += " (" + c.Message + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func roles(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+" "+labels[k])
	}
	return strings.Join(parts, ", ")
}

func names(owners []metav1.OwnerReference) string {
	var parts []string
	for _, o := range owners {
		parts = append(parts, o.Name)
	}
	return strings.Join(parts, " ")
}
