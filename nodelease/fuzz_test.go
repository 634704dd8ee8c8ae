// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
)

// Whatever somebody writes into a Lease: one who holds it has a name and an end, or is an
// administrator; what is written anew says the same; who takes it then holds it, and who gives
// it back does not.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"holderIdentity":""}}`,
		`{"spec":{"holderIdentity":"fwup","leaseDurationSeconds":60,"renewTime":"2026-01-02T03:04:05.000000Z","acquireTime":"2026-01-02T03:00:00.000000Z","leaseTransitions":3}}`,
		`{"metadata":{"annotations":{"slipway.dev/purpose":"firmware"}},"spec":{"holderIdentity":"kubeadm-alice"}}`,
		`{"spec":{"holderIdentity":"fwup","leaseDurationSeconds":-5,"renewTime":"2026-01-02T03:04:05.000000Z"}}`,
		`{"spec":{"holderIdentity":"fwup","leaseDurationSeconds":2147483647,"renewTime":"9999-12-31T23:59:59.999999Z","leaseTransitions":2147483647}}`,
		`{"spec":{"holderIdentity":"fwup","leaseDurationSeconds":0,"renewTime":null}}`,
	} {
		f.Add([]byte(seed), int64(0))
	}
	f.Fuzz(func(t *testing.T, raw []byte, late int64) {
		lease := &coordinationv1.Lease{}
		if json.Unmarshal(raw, lease) != nil {
			return
		}
		now := noon.Add(time.Duration(late))
		held, is := Read(lease, now)
		switch {
		case is && held.Holder == "":
			t.Error("nobody holds it")
		case is && !held.Administrator && (held.Until.IsZero() || now.After(held.FreeAfter())):
			t.Errorf("it is held past its end: %+v, now is %s", held, now)
		case held.Administrator != IsAdministrator(held.Holder):
			t.Errorf("an administrator: %v, holder %q", held.Administrator, held.Holder)
		case held.Valid(now) && !is:
			t.Error("its holder may go on, and others may take it")
		}
		written, err := json.Marshal(lease)
		if err != nil {
			t.Fatal(err)
		}
		same := &coordinationv1.Lease{}
		if err := json.Unmarshal(written, same); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		again, still := Read(same, now)
		if diff := cmp.Diff(held, again); diff != "" || is != still {
			t.Errorf("held: %v, then %v (-before +after):\n%s", is, still, diff)
		}
		taken := Take(lease, worker1(), "rebooter", "", time.Minute, now)
		if got, is := Read(taken, now); !is || got.Holder != "rebooter" {
			t.Errorf("it was taken, and is held: %v, %+v", is, got)
		}
		if got, is := Read(Give(taken, now), now); is {
			t.Errorf("it was given back, and is held: %+v", got)
		}
	})
}
