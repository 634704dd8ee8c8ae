// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// rapidStory is a drain to whose pods all sorts of things happen, in any order and at any time.
type rapidStory struct {
	*story
	// told: it was known which pods are left.
	told bool
}

func (s *rapidStory) any(t *rapid.T) string {
	if len(s.pods) == 0 {
		t.Skip("there are no pods")
	}
	names := make([]string, 0, len(s.pods))
	for name := range s.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(t, "pod")
}

func (s *rapidStory) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":         s.decides,
		"pod":      s.comes,
		"gone":     func(t *rapid.T) { delete(s.pods, s.any(t)) },
		"finished": func(t *rapid.T) { s.change(s.any(t), phase(corev1.PodSucceeded)) },
		"eviction": s.changes,
		"answer":   s.isAnswered,
		"clock": func(t *rapid.T) {
			s.facts.now = s.facts.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
		},
		"budget": func(t *rapid.T) {
			s.facts.budgets["default"] = []*budget{newPDB("web", func(b *policyv1.PodDisruptionBudget) {
				b.Status.DisruptionsAllowed = rapid.Int32Range(0, 1).Draw(t, "allowed")
				if rapid.Bool().Draw(t, "impossible") {
					impossible(b)
				}
			})}
		},
		"uncordon": func(t *rapid.T) { s.facts.node.unschedulable = rapid.Bool().Draw(t, "cordoned") },
		"served": func(t *rapid.T) {
			s.facts.responders.Known = rapid.Bool().Draw(t, "known")
			s.facts.responders.Served = rapid.Bool().Draw(t, "served")
			if !s.facts.responders.Served {
				s.story.answers = map[string]Response{}
			}
		},
	}
}

func (s *rapidStory) comes(t *rapid.T) {
	s.serial++
	name := fmt.Sprint("pod-", s.serial)
	s.pods[name] = newPod(name, priority(rapid.Int32Range(0, 1).Draw(t, "priority")))
	s.own[name] = rapid.Bool().Draw(t, "own")
}

func (s *rapidStory) changes(t *rapid.T) {
	if !s.facts.responders.Served {
		t.Skip("there are no Evictions")
	}
	name := s.any(t)
	r := Response{
		State:    rapid.SampledFrom([]EvictionState{EvictionNone, EvictionRunning, EvictionFailed}).Draw(t, "state"),
		Eviction: "default/" + name, UID: types.UID(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "uid")),
	}
	if r.State == EvictionRunning {
		r.Responder = rapid.SampledFrom([]string{"", "example.com/backup", "slipway.dev/surge"}).Draw(t, "responder")
		r.Last = rapid.Bool().Draw(t, "last")
		if rapid.Bool().Draw(t, "timed") {
			r.Since = s.facts.now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes")) * time.Minute)
		}
	}
	s.story.answers[name] = r
}

func (s *rapidStory) isAnswered(t *rapid.T) {
	for name, send := range s.sent {
		a := answer{outcome: accepted}
		if rapid.Bool().Draw(t, "refused") {
			a = answer{outcome: refused, refusal: &obstacle{reason: EvictionRefused}}
		}
		delete(s.sent, name)
		s.learned(answered{answer: a, pod: send.pod, by: send.by}, s.facts.now, 1)
		if _, there := s.pods[name]; there && a.outcome == accepted {
			s.change(name, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: s.facts.now.Add(30 * time.Second)} })
		}
		return
	}
	t.Skip("nothing was sent")
}

// decides lets the drain decide, and holds it to its promises.
func (s *rapidStory) decides(t *rapid.T) {
	f := s.look()
	p := decide(f)
	s.keep(p.notes)
	for _, send := range p.evict {
		r := f.responders.Pods[send.pod.UID]
		if r.works(f.now) && !isTerminating(send.pod) {
			t.Errorf("%s is sent away behind the back of %s", send.pod.Name, r.Responder)
		}
		if !f.responders.Known && r.Own && !isFinished(send.pod) && !isTerminating(send.pod) {
			t.Errorf("%s is sent away, and nobody knows whether a responder is at work on it", send.pod.Name)
		}
		if f.request.mode() == ModeEvictionRequest && !isFinished(send.pod) && !isTerminating(send.pod) {
			t.Errorf("%s is sent away, and all pods are to be left", send.pod.Name)
		}
		s.memory.sent(send)
		s.sent[send.pod.Name] = send
	}
	if s.told && p.status.Named == nil {
		t.Error("it is not known any more which pods are left")
	}
	s.told = p.status.Named != nil
	s.checkNames(t, p.status.Named)
}

func (s *rapidStory) checkNames(t *rapid.T, named []PodReference) {
	if f := s.facts; len(named) > 0 && (f.request.mode() == ModeEviction || !f.node.unschedulable || f.responders.Known && !f.responders.Served) {
		t.Errorf("%v are named", named)
	}
	if !slices.IsSortedFunc(named, func(a, b PodReference) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%v are not sorted", named)
	}
	for _, n := range named {
		if pod := s.pods[n.Name]; pod == nil || pod.UID != n.UID {
			t.Errorf("%v is named and is not there", n)
		}
	}
}

func TestNoPodIsEvictedBehindAResponderThatIsAtWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &rapidStory{story: newStory()}
		s.facts.request = Request{
			Mode:       rapid.SampledFrom([]Mode{"", ModeAuto, ModeEvictionRequest, ModeEviction}).Draw(t, "mode"),
			PodTimeout: rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "pod timeout"),
			Escalation: Escalation{DeleteAfter: rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "delete after"), KillAfter: time.Minute},
		}
		s.facts.responders.Known, s.facts.respondersLate = false, noon.Add(readLate)
		t.Repeat(s.actions())
	})
}

func TestBetweenTwoRespondersADrainIsPatientHoweverLongTheFirstHasTaken(t *testing.T) {
	s := newStory()
	s.facts.responders = Responders{Known: true, Served: true}
	s.pods["db"], s.own["db"] = newPod("db"), true
	for _, step := range []struct {
		after     time.Duration
		responder string
		evicts    bool
	}{
		{0, "example.com/backup", false},
		{time.Hour, "", false}, // nothing has made the drain look meanwhile
		{ResponderPatience - time.Second, "", false},
		{time.Second, "", true},
	} {
		s.facts.now = s.facts.now.Add(step.after)
		s.answers["db"] = Response{State: EvictionRunning, Eviction: "default/db", Responder: step.responder}
		p := decide(s.look())
		s.keep(p.notes)
		if evicts := len(p.evict) > 0; evicts != step.evicts {
			t.Errorf("at %s with responder %q: evicts is %t", s.facts.now.Sub(noon), step.responder, evicts)
		}
	}
}

func TestAPodThatASurgeHasReleasedIsNotUnmanaged(t *testing.T) {
	released := func(change ...func(*metav1.OwnerReference)) *corev1.Pod {
		owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web"}
		for _, c := range change {
			c(&owner)
		}
		return newPod("web", func(p *corev1.Pod) {
			p.Annotations = map[string]string{annotationReleased: "abc"}
			p.OwnerReferences = []metav1.OwnerReference{owner}
		})
	}
	for name, tt := range map[string]struct {
		pod       *corev1.Pod
		unmanaged bool
	}{
		"released":               {released(), false},
		"without the annotation": {newPod("web", func(p *corev1.Pod) { p.OwnerReferences = released().OwnerReferences }), true},
		"of something else":      {released(func(o *metav1.OwnerReference) { o.Kind = "ConfigMap" }), true},
		"of another group":       {released(func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1" }), true},
	} {
		if got := refusal(tt.pod, Request{RefuseUnmanaged: true}) != nil; got != tt.unmanaged {
			t.Errorf("%s: refused is %t", name, got)
		}
	}
}

func TestWhatAResponderSaysIsKeptShortAndOnOneLine(t *testing.T) {
	o := awaits(Response{Responder: "example.com/backup", Message: strings.Repeat("copying\nblock ", 1000)})
	if strings.Contains(o.message, "\n") || len(o.message) > 500 {
		t.Errorf("the message is %q", o.message)
	}
}

func TestADrainThatDoesNotKnowOfEvictionsNeverSaysThatNoPodIsLeft(t *testing.T) {
	s := newStory()
	s.facts.responders, s.facts.respondersLate = Responders{}, noon.Add(readLate)
	s.pods["db"], s.own["db"] = newPod("db"), true
	for _, after := range []time.Duration{0, readLate, time.Hour} {
		s.facts.now = noon.Add(after)
		p := decide(s.look())
		s.keep(p.notes)
		if p.status.Named != nil {
			t.Errorf("after %s it says that %v are left", after, p.status.Named)
		}
	}
	s.facts.responders = Responders{Known: true}
	if p := decide(s.look()); p.status.Named == nil {
		t.Error("there are no Evictions, and it does not say that no pod is left")
	}
}

func TestWhoWaitsForAResponderIsToldOfItsLastHeartbeat(t *testing.T) {
	r := Response{State: EvictionRunning, Responder: "example.com/backup", Since: noon, Heartbeat: noon.Add(time.Minute)}
	if o := awaits(r); !strings.Contains(o.message, "last heartbeat at 2") || !strings.Contains(o.message, ":01:00Z") {
		t.Errorf("the message is %q", o.message)
	}
	if o := noResponder(r); !strings.Contains(o.message, "example.com/backup has been silent since") {
		t.Errorf("the message is %q", o.message)
	}
}

func TestADrainIsPatientWithPodsOfWhichOthersAreNotTold(t *testing.T) {
	s := newStory()
	s.facts.responders, s.facts.budgets["default"] = Responders{Known: true, Served: true}, nil
	for i := range passedOn + 2 {
		name := fmt.Sprintf("pod-%03d", i)
		s.pods[name], s.own[name] = newPod(name), true
	}
	last, asked := fmt.Sprintf("pod-%03d", passedOn), fmt.Sprintf("pod-%03d", passedOn+1)
	s.answers[asked] = Response{State: EvictionRunning, Eviction: "default/" + asked, UID: "somebody's"}
	s.keep(decide(s.look()).notes)
	s.facts.now = s.facts.now.Add(ResponderPatience)
	p := decide(s.look())
	s.keep(p.notes)
	if is, fallen := p.notes.named["uid-"+types.UID(last)]; !fallen || !is.idle.IsZero() {
		t.Errorf("there is no patience with %s, the first that is cut: %+v", last, is)
	}
	if is := p.notes.named["uid-"+types.UID(asked)]; is.idle.IsZero() {
		t.Errorf("patience with %s, which has an Eviction, never ends", asked)
	}
	if len(p.evict) != maxInFlight || p.evict[0].pod.Name == last {
		t.Errorf("%d pods are evicted", len(p.evict))
	}
	delete(s.pods, "pod-000")
	p = decide(s.look())
	if is := p.notes.named["uid-"+types.UID(last)]; !is.idle.Equal(s.facts.now) {
		t.Errorf("there is room for %s, and patience does not begin: %+v", last, is)
	}
}
