// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	resource = evictionv1alpha1.Resource("evictions")
	conflict = apierrors.NewConflict(resource, "pod-1-cart-0", errors.New("it has been modified"))
	absent   = apierrors.NewNotFound(resource, "pod-1-cart-0")
)

func TestARunThatReturnsCompletesItsTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		run  func(context.Context, func(Progress)) error
		want string
	}{
		"without an error, its last report stays": {
			func(_ context.Context, report func(Progress)) error { report(Progress{Message: "saved"}); return nil }, "saved",
		},
		"an error is said, and the next responder has its turn": {
			func(context.Context, func(Progress)) error { return errors.New("no space") }, "failed: no space",
		},
		"a panic is an error": {
			func(context.Context, func(Progress)) error { panic("nil map") }, "failed: the responder panicked: nil map",
		},
		"a goroutine that exits is an error": {
			func(context.Context, func(Progress)) error { runtime.Goexit(); return nil }, "failed: the run ended without returning",
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, tc.run, func(s *stage) {
				<-s.ended
				if got := s.entry(); got.CompletionTime == nil || text(got.Message) != tc.want {
					t.Errorf("the entry is %+v with message %q, want it completed with %q", got, text(got.Message), tc.want)
				}
			})
		})
	}
}

func TestTheServerIsLeftAloneWhileItIsInTrouble(t *testing.T) {
	var cause error
	down := []error{errDown, errDown, errDown, errDown, errDown, errDown, errDown, errDown}
	playFailing(t, down, until(&cause, nil), func(s *stage) {
		for range 50 {
			s.report(Progress{Message: time.Now().String()}) // no reason to ask more often
			s.pass(4 * time.Second)
		}
		s.report(Progress{Message: "copying"})
		s.pass(time.Minute)
		if got := text(s.entry().Message); got != "copying" {
			t.Errorf("the message is %q after the server came back", got)
		}
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second, 63 * time.Second, 123 * time.Second, 183 * time.Second}
		if diff := cmp.Diff(want, s.attempts[:len(want)], cmpopts.EquateComparable(), cmp.Comparer(jittered)); diff != "" {
			t.Errorf("it tried at (-want +got):\n%s", diff)
		}
	})
}

// jittered: each pause may be longer by a fifth.
func jittered(a, b time.Duration) bool {
	return max(a, b) <= min(a, b)*5/4+time.Second
}

func TestACompletionIsTriedUntilItIsWritten(t *testing.T) {
	done := func(context.Context, func(Progress)) error { return nil }
	playFailing(t, []error{errDown, errDown, conflict, errDown}, done, func(s *stage) {
		<-s.ended
		if s.entry().CompletionTime == nil {
			t.Error("there is no completionTime")
		}
	})
}

func TestAfterAConflictItWritesOnTopOfWhatIsThere(t *testing.T) {
	done := func(context.Context, func(Progress)) error { return nil }
	playFailing(t, []error{conflict, conflict, conflict}, done, func(s *stage) {
		<-s.ended
		if s.entry().CompletionTime == nil {
			t.Error("there is no completionTime")
		}
	})
}

func TestAHeartbeatOfWhichTheAnswerWasLostIsNotWrittenAgain(t *testing.T) {
	var cause error
	playFailing(t, []error{errWritten}, until(&cause, nil), func(s *stage) {
		s.pass(2 * time.Minute)
		if got := s.writes(); got != 1 {
			t.Errorf("there were %d attempts to write, want 1", got)
		}
	})
}

func TestATurnThatIsOverEndsTheRunAndNothingIsWrittenAnyMore(t *testing.T) {
	state := func(state evictionv1alpha1.ResponderStateType) func(*stage) {
		return func(s *stage) {
			s.see(s.change(func(e *evictionv1alpha1.Eviction) { e.Status.TargetResponders[0].State = state }))
		}
	}
	for name, tc := range map[string]struct {
		what func(*stage)
		want error
	}{
		"it is canceled":       {state(evictionv1alpha1.ResponderStateCanceled), ErrCanceled},
		"it is interrupted":    {state(evictionv1alpha1.ResponderStateInterrupted), ErrInterrupted},
		"somebody completed":   {state(evictionv1alpha1.ResponderStateCompleted), ErrGone},
		"the Eviction is gone": {func(s *stage) { s.stop(ErrGone) }, ErrGone},
		"another Eviction has its name": {func(s *stage) {
			s.see(s.change(func(e *evictionv1alpha1.Eviction) { e.UID = "v" }))
		}, ErrGone},
		"a conflict shows that it is canceled": {func(s *stage) {
			s.change(func(e *evictionv1alpha1.Eviction) {
				e.Status.TargetResponders[0].State = evictionv1alpha1.ResponderStateCanceled
			})
			s.fail(nil, conflict)
		}, ErrCanceled},
		"a conflict shows that it is gone": {func(s *stage) { s.fail(absent, conflict) }, ErrGone},
		"a write shows that it is gone":    {func(s *stage) { s.fail(absent, absent) }, ErrGone},
		"the process ends":                 {func(s *stage) { s.stop(ErrShutdown) }, ErrShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			for _, result := range []error{nil, errors.New("stopped")} {
				var cause error
				play(t, until(&cause, result), func(s *stage) {
					s.pass(time.Minute)
					tc.what(s)
					<-s.ended
					if !errors.Is(cause, tc.want) {
						t.Errorf("the cause is %v, want %v", cause, tc.want)
					}
					if got := s.entry(); got.CompletionTime != nil {
						t.Errorf("the turn was completed: %+v", got)
					}
				})
			}
		})
	}
}

// fail lets a report's write fail.
func (s *stage) fail(read, write error) {
	s.mu.Lock()
	s.readFails, s.writeFails = []error{read}, []error{write}
	s.mu.Unlock()
	s.report(Progress{Message: "copying"})
}

func TestWhatTheWatchShowsLateIsNotTakenForNew(t *testing.T) {
	var cause error
	play(t, until(&cause, nil), func(s *stage) {
		old := s.change(func(*evictionv1alpha1.Eviction) {})
		s.pass(4 * time.Minute)
		s.report(Progress{Message: "copying"})
		s.pass(time.Second)
		before := s.writes()
		s.see(old)
		s.report(Progress{Message: "copying"}) // nothing new
		s.pass(time.Minute)
		if got := s.writes(); got != before {
			t.Errorf("it was written %d times since", got-before)
		}
	})
}

func TestARunThatLingersAfterItsTurnIsNotHeardAnyMore(t *testing.T) {
	play(t, func(ctx context.Context, report func(Progress)) error {
		<-ctx.Done()
		report(Progress{Message: "still here"})
		<-time.After(2 * time.Hour)
		return nil
	}, func(s *stage) {
		s.pass(time.Minute)
		before := s.writes()
		s.stop(ErrCanceled)
		s.pass(time.Hour)
		if s.isOver() {
			t.Error("the job is over before its run has returned")
		}
		<-s.ended
		if got := s.writes(); got != before {
			t.Errorf("it was written %d times after the end of the turn", got-before)
		}
	})
}

func TestAdviceAboutWritesThatAreRefused(t *testing.T) {
	invalid := func(field string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason:  metav1.StatusReasonInvalid,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: field, Message: "must be set to the present time"}}},
		}}
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a time that is off":   {invalid("status.responders[0].heartbeatTime"), "accepts only times within 30s of its clock; the time of this process is 2026-01-01T00:00:00Z"},
		"another field":        {invalid("status.targetResponders"), ""},
		"a right is missing":   {apierrors.NewForbidden(resource, "a", errors.New("no")), "patch evictions/status in API group lifecycle.k8s.io"},
		"the server is away":   {errDown, ""},
		"an invalid of others": {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := advice(tc.err, epoch); !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("the advice is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheFieldManagerIsTheRespondersOwn(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + ".example.com/"
	one, two := managerOf(long+"one"), managerOf(long+"two")
	if managerOf(own) != own || one == two || len(one) != maxManager || len(two) != maxManager {
		t.Errorf("managers are %q, %q and %q", managerOf(own), one, two)
	}
}
