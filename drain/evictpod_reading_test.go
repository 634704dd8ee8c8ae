// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/slipway-k8s/slipway/drain"
)

// failing makes the server refuse a kind of request as long as it is set.
func (s *fakeServer) failing(verb, resource string, err error, concerns func(k8stesting.Action) bool) *atomic.Bool {
	var on atomic.Bool
	on.Store(true)
	s.PrependReactor(verb, resource, func(a k8stesting.Action) (bool, runtime.Object, error) {
		return on.Load() && concerns(a), nil, err
	})
	return &on
}

func TestWhatCannotBeReadIsToldAndTriedAgain(t *testing.T) {
	for resource, want := range map[string]string{
		"pods": "pods of namespace default", "poddisruptionbudgets": "budgets of namespace default",
	} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t, fakePod("a"))
				refuses := s.failing("list", resource, apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("no")),
					func(k8stesting.Action) bool { return true })
				e := startEvicting(t, newDrainer(t, s), "a")
				pass(time.Minute)
				if diff := cmp.Diff([]drain.Reason{drain.ReadRefused}, e.reasons()); diff != "" || len(s.evictions()) > 0 {
					t.Errorf("told (-want +got):\n%s; asked %d times", diff, len(s.evictions()))
				}
				if by := e.told[0].Blocker.By; by != want {
					t.Errorf("it is held up by %q", by)
				}
				refuses.Store(false)
				if err := e.end(); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff([]drain.Reason{drain.ReadRefused, ""}, e.reasons()); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAPodThatIsNotSeenIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		away := s.failing("list", "pods", &url.Error{Op: "Get", URL: "/", Err: syscall.ECONNREFUSED}, func(a k8stesting.Action) bool {
			list, ok := a.(k8stesting.ListAction)
			return ok && list.GetListRestrictions().Fields.String() == "metadata.name=a"
		})
		e := startEvicting(t, newDrainer(t, s), "a")
		pass(time.Minute)
		e.wantRunning()
		if got := e.reasons(); len(got) == 0 || got[0] != drain.APIServerUnavailable {
			t.Errorf("told %v", got)
		}
		away.Store(false)
		if err := e.end(); err != nil {
			t.Error(err)
		}
	})
}
