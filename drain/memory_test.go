// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestBookCountsPodsThatAreGone(t *testing.T) {
	b := newMemory()
	a, c := newPod("a"), newPod("c")
	none := func(types.UID) bool { return false }
	b.saw([]*corev1.Pod{a, c}, none)
	if b.gone != 0 {
		t.Errorf("pods that were just seen are counted as gone: %d", b.gone)
	}
	b.saw([]*corev1.Pod{c}, none)
	if b.gone != 1 {
		t.Errorf("one has gone, counted %d", b.gone)
	}
	b.saw(nil, func(uid types.UID) bool { return uid == c.UID })
	if b.gone != 1 {
		t.Errorf("a pod that has left the scope but exists is counted as gone: %d", b.gone)
	}
	b.saw([]*corev1.Pod{newPod("a", func(p *corev1.Pod) { p.UID = "uid-a-again" })}, none)
	if b.gone != 1 {
		t.Errorf("a new pod of the same name changes the count: %d", b.gone)
	}
}

func TestBookForgetsWhatItNeedsNoMore(t *testing.T) {
	none := func(types.UID) bool { return false }
	t.Run("the pod goes after the answer", func(t *testing.T) {
		b, pod := newMemory(), newPod("a")
		b.saw([]*corev1.Pod{pod}, none)
		b.sent(send{pod: pod})
		b.learned(answered{answer: answer{outcome: accepted}, pod: pod}, noon, 0)
		b.saw(nil, none)
		if len(b.tries) != 0 || b.inFlight != 0 {
			t.Errorf("%d tries, %d in flight", len(b.tries), b.inFlight)
		}
	})
	t.Run("the pod goes before the answer", func(t *testing.T) {
		b, pod := newMemory(), newPod("a")
		b.saw([]*corev1.Pod{pod}, none)
		b.sent(send{pod: pod})
		b.saw(nil, none)
		b.learned(answered{answer: answer{outcome: vanished}, pod: pod}, noon, 0)
		if len(b.tries) != 0 || b.inFlight != 0 {
			t.Errorf("%d tries, %d in flight", len(b.tries), b.inFlight)
		}
	})
}

func TestBookLooksAgainLaterAndLater(t *testing.T) {
	b := newMemory()
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		b.last = b.last.after(errors.New("away"), noon, 1)
		if got := b.last.notBefore.Sub(noon); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	b.keep(notes{})
	if b.last != (readAttempt{}) {
		t.Errorf("a pod was found, so the next look is a new one, but got %+v", b.last)
	}
}

func TestADeletionWhoseAnswerWasLostIsToldWhenItIsSeen(t *testing.T) {
	cases := map[string]struct {
		answer answer
		want   int
	}{
		"the server was away":          {answer{outcome: unavailable}, 1},
		"the answer came too late":     {answer{outcome: refused, refusal: &obstacle{reason: EvictionTimedOut}}, 1},
		"it was refused":               {answer{outcome: refused, refusal: &obstacle{reason: DeletionRefused}}, 0},
		"the answer said so all along": {answer{outcome: accepted}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, pod := newMemory(), newPod("a")
			exists := func(types.UID) bool { return true }
			b.saw([]*corev1.Pod{pod}, exists)
			b.sent(send{pod: pod, by: byDeletion})
			b.learned(answered{answer: tc.answer, pod: pod, by: byDeletion}, noon, 0)
			for range 2 {
				b.saw([]*corev1.Pod{newPod("a", endingAt(noon))}, exists)
			}
			if len(b.overridden) != tc.want {
				t.Errorf("told of %v, want %d", b.overridden, tc.want)
			}
		})
	}
}

func TestBookCountsAPodOnceWhoeverSendsItAway(t *testing.T) {
	none := func(types.UID) bool { return false }
	owned := newPod("a", ofController("web"))
	ending := owned.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: noon}
	begin := func() memory {
		b := newMemory()
		b.saw([]*corev1.Pod{owned}, none)
		return b
	}
	evicted := answered{answer: answer{outcome: accepted}, pod: owned}
	for name, happens := range map[string]func(*memory){
		"by responders": func(b *memory) { b.saw([]*corev1.Pod{ending}, none) },
		"by the drain": func(b *memory) {
			b.sent(send{pod: owned})
			b.learned(evicted, noon, 0)
			b.saw([]*corev1.Pod{ending}, none)
		},
		"by the drain, and it ends before the answer": func(b *memory) {
			b.sent(send{pod: owned})
			b.saw([]*corev1.Pod{ending}, none)
			b.learned(evicted, noon, 0)
		},
		"by responders, and then the drain": func(b *memory) {
			b.saw([]*corev1.Pod{ending}, none)
			b.sent(send{pod: owned})
			b.learned(evicted, noon, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := begin()
			happens(&b)
			b.saw(nil, none)
			if got := b.owners["web"].sent; got != 1 {
				t.Errorf("counted %d times", got)
			}
		})
	}
}

func ofController(owner types.UID) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: string(owner), UID: owner, Controller: new(true)}}
	}
}
