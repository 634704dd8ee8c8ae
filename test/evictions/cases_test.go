// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

const (
	backup  = "example.com/backup"
	migrate = "example.com/migrate"
	evicted = string(evictionv1alpha1.EvictionConditionTargetEvicted)
	failed  = string(evictionv1alpha1.EvictionConditionFailed)
)

// cases are told on a server of either kind.
var cases = map[string]func(*scene){
	"one responder after the other, until the pod is gone": func(s *scene) {
		pod := s.pod("p", responder(migrate, 15000), responder(backup, 20000))
		s.ask("drain", pod)
		e := s.awaitActive("pod-1-p", backup)
		want := map[string]string{
			"example.com/drain": "requester", backup: "responder", migrate: "responder", evictionrequest.Evictor: "responder",
		}
		if diff := cmp.Diff(want, e.Labels); diff != "" {
			s.t.Errorf("labels (-want +got):\n%s", diff)
		}
		if err := s.respond("pod-1-p", migrate, completed(time.Now())); err == nil {
			s.t.Error("a responder that is not Active could report")
		}
		s.must(s.respond("pod-1-p", backup, completed(time.Now())))
		e = s.awaitActive("pod-1-p", migrate)
		if got := stateOf(e, backup); got != evictionv1alpha1.ResponderStateCompleted {
			s.t.Errorf("%s is %s", backup, got)
		}
		s.remove(pod) // and says no more
		s.awaitTold("drain", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.takeBack("drain")
		s.awaitGone("pod-1-p")
	},
	"a pod that goes before its responder has said that it is done": func(s *scene) {
		pod := s.pod("p", responder(backup, 20000))
		s.ask("drain", pod)
		s.awaitActive("pod-1-p", backup)
		s.remove(pod)
		s.must(s.respond("pod-1-p", backup, completed(time.Now())))
		s.awaitTold("drain", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.awaitEviction("pod-1-p", backup+" has reported", func(e *evictionv1alpha1.Eviction) bool {
			return stateOf(e, backup) == evictionv1alpha1.ResponderStateCompleted
		})
	},
	"a pod that goes, and its responder says nothing": func(s *scene) {
		pod := s.pod("p", responder(backup, 20000))
		s.ask("drain", pod)
		s.awaitActive("pod-1-p", backup)
		s.remove(pod)
		s.awaitTold("drain", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.awaitEviction("pod-1-p", backup+" is Interrupted", func(e *evictionv1alpha1.Eviction) bool {
			own := e.Status.Responders[0]
			return stateOf(e, backup) == evictionv1alpha1.ResponderStateInterrupted && own.Name == backup && own.CompletionTime == nil
		})
	},
	"two requesters, of which one withdraws, and then the other": func(s *scene) {
		pod := s.pod("p", responder(backup, 20000))
		s.ask("a", pod)
		s.ask("b", pod)
		s.awaitActive("pod-1-p", backup)
		s.withdraw("a")
		s.awaitEviction("pod-1-p", "a has withdrawn", func(e *evictionv1alpha1.Eviction) bool {
			return cmp.Equal(e.Status.Requesters, []evictionv1alpha1.Requester{
				{Name: "example.com/a", Intent: evictionv1alpha1.RequesterIntentWithdrawn},
				{Name: "example.com/b", Intent: evictionv1alpha1.RequesterIntentEviction},
			}) && stateOf(e, backup) == evictionv1alpha1.ResponderStateActive
		})
		s.withdraw("b")
		s.awaitTold("a", failed, evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters)
		s.awaitTold("b", failed, evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters)
		s.awaitEviction("pod-1-p", backup+" is Canceled", func(e *evictionv1alpha1.Eviction) bool {
			return stateOf(e, backup) == evictionv1alpha1.ResponderStateCanceled
		})
		s.intend("a", evictionv1alpha1.EvictionRequestIntentEviction)
		s.awaitActive("pod-2-p", backup)
		s.takeBack("a")
		s.takeBack("b")
		s.awaitGone("pod-1-p")
		s.awaitGone("pod-2-p")
	},
	"a responder that asks as well": func(s *scene) {
		pod := s.pod("p", responder(backup, 20000))
		s.ask("own", pod, func(r *evictionv1alpha1.EvictionRequest) { r.Spec.Requester = backup })
		if e := s.awaitActive("pod-1-p", backup); e.Labels[backup] != "requester-responder" {
			s.t.Errorf("label %s is %q", backup, e.Labels[backup])
		}
	},
	"a target that is replaced by a pod of the same name": func(s *scene) {
		old := s.pod("p", responder(backup, 20000))
		s.ask("a", old)
		s.awaitActive("pod-1-p", backup)
		s.remove(old)
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		next := s.pod("p", responder(backup, 20000))
		s.ask("late", old)
		s.awaitTold("late", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.ask("b", next)
		if e := s.awaitActive("pod-2-p", backup); e.Spec.Target.Pod.UID != next.UID {
			s.t.Errorf("it is about %s", e.Spec.Target.Pod.UID)
		}
	},
	"a target that is gone already": func(s *scene) {
		pod := s.pod("p")
		s.remove(pod)
		s.ask("a", pod)
		s.awaitTold("a", failed, evictionv1alpha1.EvictionConditionReasonEvictionInvalid)
	},
	"a target that has ended already": func(s *scene) {
		pod := s.pod("p")
		pod.Status.Phase = corev1.PodSucceeded
		_, err := s.clients.CoreV1().Pods(s.namespace).UpdateStatus(s.t.Context(), pod, updateOptions)
		s.must(err)
		s.ask("a", pod)
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodTerminal)
	},
	"a target that ends by itself, while a responder is at work": func(s *scene) {
		pod := s.pod("p", responder(backup, 20000))
		s.ask("a", pod)
		s.awaitActive("pod-1-p", backup)
		s.must(s.respond("pod-1-p", backup, alive(time.Now())))
		pod.Status.Phase = corev1.PodFailed
		_, err := s.clients.CoreV1().Pods(s.namespace).UpdateStatus(s.t.Context(), pod, updateOptions)
		s.must(err)
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodTerminal)
		s.awaitEviction("pod-1-p", "has ended", func(e *evictionv1alpha1.Eviction) bool {
			return has(e.Status.Conditions, evicted, evictionv1alpha1.EvictionConditionReasonPodTerminal) &&
				stateOf(e, backup) == evictionv1alpha1.ResponderStateInterrupted
		})
	},
	"eleven responders, none of which evicts": func(s *scene) {
		var all []corev1.EvictionResponder
		for i := range 10 {
			all = append(all, responder(fmt.Sprintf("r%d.example.com/x", i), int32(20000-i)))
		}
		s.ask("a", s.pod("p", all...))
		for _, r := range append(all, responder(evictionrequest.Evictor, 100)) {
			s.awaitActive("pod-1-p", r.Name)
			s.must(s.respond("pod-1-p", r.Name, completed(time.Now())))
		}
		s.awaitActive("pod-2-p", all[0].Name)
	},
	"a last responder that gives up twice": func(s *scene) {
		s.ask("a", s.pod("p"))
		for _, eviction := range []string{"pod-1-p", "pod-2-p"} {
			s.awaitActive(eviction, evictionrequest.Evictor)
			s.must(s.respond(eviction, evictionrequest.Evictor, completed(time.Now())))
		}
		s.awaitTold("a", failed, evictionv1alpha1.EvictionConditionReasonNoFurtherResponder)
	},
	"an Eviction of somebody else's": func(s *scene) {
		pod := s.pod("p")
		s.eviction("theirs", pod)
		s.awaitGone("theirs")
		s.ask("a", pod)
		s.awaitActive("pod-1-p", evictionrequest.Evictor)
		s.eviction("another", pod)
		s.awaitEviction("another", "has ended", func(e *evictionv1alpha1.Eviction) bool {
			return has(e.Status.Conditions, failed, evictionv1alpha1.EvictionConditionReasonEvictionInvalid)
		})
	},
	"a status that somebody removes": func(s *scene) {
		s.ask("a", s.pod("p", responder(backup, 20000)))
		s.awaitActive("pod-1-p", backup)
		_, err := s.clients.LifecycleV1alpha1().Evictions(s.namespace).Patch(s.t.Context(), "pod-1-p", types.MergePatchType,
			[]byte(`{"status": null}`), metav1.PatchOptions{}, "status")
		if !apierrors.IsInvalid(err) {
			s.t.Errorf("the server says %v", err)
		}
	},
	"a request whose domain is too long for a label": func(s *scene) {
		r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: "long"}}
		r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: "p", UID: "u"}
		r.Spec.Requester = strings.Repeat("a.", 126) + "io/x" // 254 characters
		r.Spec.Intent = evictionv1alpha1.EvictionRequestIntentEviction
		_, err := s.clients.LifecycleV1alpha1().EvictionRequests(s.namespace).Create(s.t.Context(), r, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) {
			s.t.Errorf("the server says %v", err)
		}
	},
	"a request that nobody wants from the beginning": func(s *scene) {
		s.ask("a", s.pod("p"), func(r *evictionv1alpha1.EvictionRequest) {
			r.Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
		})
		s.awaitTold("a", failed, evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters)
	},
	"a pod with a name as long as names can be": func(s *scene) {
		pod := s.pod(strings.Repeat("p", 253))
		s.ask("a", pod)
		s.awaitActive("pod-1-"+strings.Repeat("p", 247), evictionrequest.Evictor)
	},
}

// timed are the cases in which time passes.
var timed = map[string]func(*scene, *testingclock.FakeClock){
	"a responder that goes silent, and one that is heard of": func(s *scene, now *testingclock.FakeClock) {
		s.ask("a", s.pod("p", responder(backup, 20000), responder(migrate, 15000)))
		s.awaitActive("pod-1-p", backup)
		now.Step(19 * time.Minute)
		s.must(s.respond("pod-1-p", backup, alive(now.Now())))
		now.Step(19 * time.Minute)
		s.must(s.respond("pod-1-p", backup, func(r *evictionv1alpha1.ResponderStatus) { r.Message = new("still at it") }))
		s.awaitEviction("pod-1-p", "it is still its turn", func(e *evictionv1alpha1.Eviction) bool {
			return stateOf(e, backup) == evictionv1alpha1.ResponderStateActive && *e.Status.Responders[0].Message != ""
		})
		now.Step(61 * time.Second)
		e := s.awaitActive("pod-1-p", migrate)
		if got := stateOf(e, backup); got != evictionv1alpha1.ResponderStateInterrupted {
			s.t.Errorf("%s is %s", backup, got)
		}
		if err := s.respond("pod-1-p", backup, completed(now.Now())); err == nil {
			s.t.Error("it could report after its turn")
		}
	},
	"a responder that crashes and returns in time": func(s *scene, now *testingclock.FakeClock) {
		s.ask("a", s.pod("p", responder(backup, 20000)))
		s.awaitActive("pod-1-p", backup)
		now.Step(19*time.Minute + 59*time.Second)
		s.must(s.respond("pod-1-p", backup, alive(now.Now())))
		now.Step(19*time.Minute + 59*time.Second)
		s.must(s.respond("pod-1-p", backup, completed(now.Now())))
		if e := s.awaitActive("pod-1-p", evictionrequest.Evictor); stateOf(e, backup) != evictionv1alpha1.ResponderStateCompleted {
			s.t.Errorf("%s is %s", backup, stateOf(e, backup))
		}
	},
	"all go silent": func(s *scene, now *testingclock.FakeClock) {
		s.ask("a", s.pod("p", responder(backup, 20000)))
		s.awaitActive("pod-1-p", backup)
		now.Step(20 * time.Minute)
		s.awaitActive("pod-1-p", evictionrequest.Evictor)
		now.Step(20 * time.Minute)
		s.awaitActive("pod-2-p", backup)
	},
}
