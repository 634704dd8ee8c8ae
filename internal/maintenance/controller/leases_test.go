// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-k8s/slipway/nodelease"
)

func aLease(node, holder string, taken time.Time) *coordinationv1.Lease {
	return nodelease.Take(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, holder, "firmware", time.Minute, taken)
}

func TestWhoHasTheLeasesOfNodesIsAmongTheFacts(t *testing.T) {
	now := time.Unix(1000, 0)
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	elsewhere := aLease("c", "fwup", now)
	elsewhere.Namespace = "kube-node-lease"
	w := newWorld(t, nil, interceptor.Funcs{}, node("a"), node("b"), node("c"),
		aLease("a", "fwup", now), aLease("b", "fwup", now.Add(-time.Hour)), elsewhere)
	w.Clock, w.reader = clocktesting.NewFakeClock(now), w.api
	for _, takes := range []bool{false, true} {
		w.Leases = takes
		facts, err := w.gather(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if facts.Leases != takes {
			t.Errorf("it takes leases: %t", facts.Leases)
		}
		for _, n := range facts.Nodes {
			want := ""
			if takes && n.Name == "a" {
				want = "fwup"
			}
			if n.Lease.Holder != want {
				t.Errorf("with leases %t, that of node %s is held by %q; want %q", takes, n.Name, n.Lease.Holder, want)
			}
		}
	}
}

func TestARenewalWakesNobody(t *testing.T) {
	now := time.Unix(1000, 0)
	before := aLease("a", "slipway", now)
	for name, tc := range map[string]struct {
		after any
		want  bool
	}{
		"it is renewed":         {nodelease.Take(before, nil, "slipway", "firmware", time.Minute, now.Add(time.Second)), false},
		"it is taken anew":      {nodelease.Take(before, nil, "slipway", "firmware", time.Minute, now.Add(time.Hour)), true},
		"somebody else took it": {nodelease.Take(before, nil, "fwup", "firmware", time.Minute, now.Add(time.Hour)), true},
		"it is given back":      {nodelease.Give(before, now), true},
		"it is something else":  {&corev1.Node{}, true},
	} {
		if got := leaseChanged(before, tc.after); got != tc.want {
			t.Errorf("%s: it wakes: %t", name, got)
		}
	}
}
