// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestWhatCannotBeAPodIsRefusedAndNotLookedFor(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{}
	e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
	for _, pod := range []lifecyclev1alpha1.PodReference{
		{},
		{Namespace: "shop", Name: "cart"},
		{Namespace: "shop/pods/cart", Name: "cart", UID: "u"},
		{Namespace: "..", Name: "cart", UID: "u"},
		{Namespace: "shop", Name: "cart/eviction", UID: "u"},
		{Namespace: "shop", Name: "cart?watch=true", UID: "u"},
		{Namespace: "shop", Name: "cart", UID: types.UID(strings.Repeat("u", 129))},
	} {
		e.Status.LeftToResponders = []lifecyclev1alpha1.PodReference{pod}
		steps := Next(Facts{Event: e}, time.Time{})
		if refuse, is := steps[0].(Refuse); len(steps) != 1 || !is || !refuse.Lies {
			t.Errorf("%+v: got %+v; want that it is refused", pod, steps)
		}
	}
}

// A node may name any number of pods, one after the other.
func TestNoMoreIsRememberedThanWhatAnEventNames(t *testing.T) {
	p := newMemory()
	for i := range 1000 {
		pod := reference(fmt.Sprint("p", i))
		p.keep("e1", []lifecyclev1alpha1.PodReference{pod})
		p.settle("e1", pod)
		p.wait("e1", Wait{Pod: pod}, time.Unix(0, 0))
	}
	if notes := p.of("e1"); len(notes) != 1 {
		t.Errorf("%d pods are remembered; want 1", len(notes))
	}
	if p.keep("e1", nil); len(p.events) > 0 {
		t.Errorf("of an event that is over, %v is remembered", p.events)
	}
}

func TestTheNextPassIsDueWhenTheFirstWaitIsOver(t *testing.T) {
	begin := time.Unix(0, 0)
	p := newMemory()
	p.wait("e1", Wait{Pod: reference("a")}, begin.Add(time.Second))
	p.wait("e1", Wait{Pod: reference("b"), Request: "r1"}, begin)
	p.wait("e2", Wait{Pod: reference("c")}, begin)
	for now, want := range map[time.Duration]time.Time{
		0:                begin.Add(time.Minute),
		time.Minute:      begin.Add(time.Minute + time.Second),
		61 * time.Second: {},
	} {
		if got := p.due("e1", begin.Add(now)); !got.Equal(want) {
			t.Errorf("after %s: %v is due, want %v", now, got, want)
		}
	}
	for range 20 {
		p.wait("e1", Wait{Pod: reference("b"), Request: "r"}, begin)
	}
	if got := p.events["e1"][reference("b")].Until; !got.Equal(begin.Add(againCap)) {
		t.Errorf("it is tried again at %v; want %s at the most", got, againCap)
	}
}
