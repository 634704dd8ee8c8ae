// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRead(t *testing.T) {
	fwup := Held{Holder: "fwup", Purpose: "firmware", Since: noon, Until: after(time.Minute)}
	with := func(holder string, change func(*coordinationv1.Lease)) *coordinationv1.Lease {
		lease := leaseOf(holder)
		change(lease)
		return lease
	}
	for name, tc := range map[string]struct {
		lease *coordinationv1.Lease
		at    time.Duration
		want  Held
		is    bool
	}{
		"there is none":                           {lease: nil},
		"an empty one":                            {lease: &coordinationv1.Lease{}},
		"at once":                                 {lease: leaseOf("fwup"), want: fwup, is: true},
		"at its end":                              {lease: leaseOf("fwup"), at: time.Minute, want: fwup, is: true},
		"after its end, within the skew":          {lease: leaseOf("fwup"), at: 63 * time.Second, want: fwup, is: true},
		"after the skew":                          {lease: leaseOf("fwup"), at: 63*time.Second + 1, want: fwup},
		"by a clock that is behind":               {lease: leaseOf("fwup"), at: -time.Hour, want: fwup, is: true},
		"given back":                              {lease: Give(leaseOf("fwup"), after(time.Second)), at: time.Second},
		"given back as the proposal has it":       {lease: with("fwup", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(0)) }), want: Held{Holder: "fwup", Purpose: "firmware", Since: noon, Until: noon}},
		"without a duration":                      {lease: with("fwup", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil }), want: Held{Holder: "fwup", Purpose: "firmware", Since: noon, Until: noon}},
		"with less than no duration":              {lease: with("fwup", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(-9)) }), want: Held{Holder: "fwup", Purpose: "firmware", Since: noon, Until: noon}},
		"never renewed":                           {lease: with("fwup", func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil }), want: Held{Holder: "fwup", Purpose: "firmware", Since: noon}},
		"without the time when it was taken":      {lease: with("fwup", func(l *coordinationv1.Lease) { l.Spec.AcquireTime = nil }), want: Held{Holder: "fwup", Purpose: "firmware", Until: after(time.Minute)}, is: true},
		"for longer than it may be, it is obeyed": {lease: with("fwup", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(86400)) }), at: 24 * time.Hour, want: Held{Holder: "fwup", Purpose: "firmware", Since: noon, Until: after(24 * time.Hour)}, is: true},
		"an administrator's, a year later":        {lease: leaseOf("kubeadmin-alice"), at: 365 * 24 * time.Hour, want: Held{Holder: "kubeadmin-alice", Purpose: "firmware", Since: noon, Administrator: true}, is: true},
		"an administrator's with the proposal's literal, with a holder and nothing else": {
			lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("kubeadm-bob")}},
			want:  Held{Holder: "kubeadm-bob", Administrator: true}, is: true,
		},
		"a holder that only has it in its name": {lease: leaseOf("my-kubeadmin"), at: 2 * time.Minute, want: Held{Holder: "my-kubeadmin", Purpose: "firmware", Since: noon, Until: after(time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			held, is := Read(tc.lease, after(tc.at))
			if is != tc.is {
				t.Errorf("held: %t, want %t", is, tc.is)
			}
			if diff := cmp.Diff(tc.want, held); diff != "" {
				t.Errorf("held by (-want +got):\n%s", diff)
			}
		})
	}
}

// The others wait longer than the holder works, by the skew.
func TestAHolderStopsBeforeOthersBegin(t *testing.T) {
	lease := leaseOf("fwup")
	held, _ := Read(lease, noon)
	for at, want := range map[time.Duration]struct{ valid, free bool }{
		time.Minute:                 {valid: true},
		time.Minute + 1:             {},
		time.Minute + Skew:          {},
		time.Minute + Skew + 1:      {free: true},
		time.Minute + 2*Skew:        {free: true},
		-time.Minute:                {valid: true},
		time.Minute - Skew:          {valid: true},
		time.Minute + Skew + Skew/2: {free: true},
	} {
		_, is := Read(lease, after(at))
		if held.Valid(after(at)) != want.valid || is == want.free {
			t.Errorf("%s after it was taken: valid %t, free %t, want %+v", at, held.Valid(after(at)), !is, want)
		}
	}
	if got := held.FreeAfter(); !got.Equal(after(time.Minute + Skew)) {
		t.Errorf("free after %s", got)
	}
	admin, _ := Read(leaseOf("kubeadmin-alice"), noon)
	if !admin.Valid(after(1e6*time.Hour)) || !admin.FreeAfter().IsZero() {
		t.Errorf("an administrator's lease ends: %+v", admin)
	}
	if (Held{}).Valid(noon) {
		t.Error("nobody may go on")
	}
}

func TestReadChangesNothing(t *testing.T) {
	lease := leaseOf("fwup")
	before := lease.DeepCopy()
	Read(lease, after(time.Hour))
	Take(lease, worker1(), "other", "", time.Hour, after(time.Hour))
	Give(lease, after(time.Hour))
	if diff := cmp.Diff(before, lease); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if lease.Spec.RenewTime.Equal(&metav1.MicroTime{Time: after(time.Hour)}) {
		t.Error("the time is shared")
	}
}
