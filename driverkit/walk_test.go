// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestWalk is a whole event, as an agent drives it that knows the additions, and as
// one that does not.
func TestWalk(t *testing.T) {
	cases := map[string]struct{ wait *durationpb.Duration }{
		"an agent that waits": {durationpb.New(30 * time.Second)},
		"an agent that polls": {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rebooted := make(chan struct{})
			s := serve(t, testConfig(t), Background(func(ctx context.Context, _ Call, report func(Answer)) error {
				report(Answer{Message: "rebooting"})
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-rebooted:
					report(Answer{Message: "up again"})
					return nil
				}
			}))
			got, err := s.slm.StartLifecycleTransition(t.Context(), startRequest("a"))
			if err != nil {
				t.Fatal(err)
			}
			if got.GetLifecycleCondition() != "rebooting" {
				t.Fatalf("state is %q", got.GetLifecycleCondition())
			}
			close(rebooted)
			for got.GetLifecycleCondition() != "rebooted" {
				request := endRequest("a")
				request.Wait = tc.wait
				if got, err = s.slm.EndLifecycleTransition(t.Context(), request); err != nil {
					t.Fatal(err)
				}
			}
			want := &response{LifecycleCondition: "rebooted", NodeName: "n1", Message: "up again", Waits: true}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("last answer (-want +got):\n%s", diff)
			}
		})
	}
}
