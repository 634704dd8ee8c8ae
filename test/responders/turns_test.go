// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/responderkit"
)

func message(r evictionv1alpha1.ResponderStatus) string {
	if r.Message == nil {
		return ""
	}
	return *r.Message
}

func aRunCompletesItsTurn(t *testing.T, server *server) {
	s := server.scene(t)
	pod := s.pod("cart-0")
	told := make(chan responderkit.Eviction, 1)
	s.serve(func(ctx context.Context, e responderkit.Eviction, report func(responderkit.Progress)) error {
		report(responderkit.Progress{Message: "saved"})
		told <- e
		_, err := e.ReadPod(ctx)
		return err
	})
	e := s.awaitTurn(s.evict(pod), evictor)
	got := s.entry(e, s.name)
	if message(got) != "saved" || got.StartTime == nil || got.CompletionTime == nil || got.ExpectedCompletionTime != nil {
		t.Errorf("the entry is %+v", got)
	}
	if got := <-told; got.Namespace != s.namespace || got.Name != e.Name || got.UID != e.UID || got.PodName != "cart-0" || got.PodUID != pod.UID {
		t.Errorf("the run was told of %+v", got)
	}
}

func whatARunReports(t *testing.T, server *server) {
	s := server.scene(t)
	at := time.Now().Add(10 * time.Minute)
	seen := make(chan struct{})
	s.serve(func(ctx context.Context, _ responderkit.Eviction, report func(responderkit.Progress)) error {
		report(responderkit.Progress{Message: "copying", ExpectedCompletion: at})
		<-seen
		return nil
	})
	e := s.evict(s.pod("cart-0"))
	e = s.awaitEntry(e, "says how far it is", func(r evictionv1alpha1.ResponderStatus) bool {
		return message(r) == "copying" && r.ExpectedCompletionTime != nil && r.ExpectedCompletionTime.Unix() == at.Unix()
	})
	if got := s.entry(e, s.name); got.HeartbeatTime == nil || time.Since(got.HeartbeatTime.Time) > 30*time.Second {
		t.Errorf("the heartbeat is %v", got.HeartbeatTime)
	}
	close(seen)
	s.awaitCompleted(e)
}

func aFailureIsSaid(t *testing.T, server *server) {
	s := server.scene(t)
	s.serve(func(context.Context, responderkit.Eviction, func(responderkit.Progress)) error {
		return errors.New("no space left")
	})
	e := s.awaitCompleted(s.evict(s.pod("cart-0")))
	if got := message(s.entry(e, s.name)); got != "failed: no space left" {
		t.Errorf("the message is %q", got)
	}
}

func aTurnComes(t *testing.T, server *server) {
	s := server.scene(t)
	begun := make(chan struct{}, 2)
	s.serve(func(context.Context, responderkit.Eviction, func(responderkit.Progress)) error {
		begun <- struct{}{}
		return nil
	})
	const other = "example.com/first"
	e := s.evict(s.pod("cart-0", other, s.name))
	if len(begun) > 0 || s.entry(e, s.name).HeartbeatTime != nil {
		t.Error("the run began before its turn")
	}
	s.change(e.Name, func(e *evictionv1alpha1.Eviction) {
		for i := range e.Status.Responders {
			if e.Status.Responders[i].Name == other {
				e.Status.Responders[i].CompletionTime = &metav1.Time{Time: time.Now()}
			}
		}
	})
	s.awaitCompleted(e)
	if len(begun) != 1 {
		t.Errorf("the run began %d times", len(begun))
	}
}

func aRequesterCanBeAResponder(t *testing.T, server *server) {
	s := server.scene(t)
	s.serve(func(context.Context, responderkit.Eviction, func(responderkit.Progress)) error { return nil })
	s.ask(s.pod("cart-0"), s.name)
	e := s.await("pod-1-cart-0", "is the evictor's", func(e *evictionv1alpha1.Eviction) bool {
		return slices.ContainsFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool { return r.Name == evictor && r.StartTime != nil })
	})
	if role := e.Labels[s.name]; role != string(evictionv1alpha1.EvictionParticipantRoleRequesterResponder) {
		t.Errorf("the label is %q", role)
	}
}

func aTurnThatIsOver(t *testing.T, server *server) {
	for name, tc := range map[string]struct {
		what func(s *scene, eviction string)
		want error
	}{
		"canceled":        {func(s *scene, _ string) { s.withdraw("cart-0") }, responderkit.ErrCanceled},
		"the pod is gone": {func(s *scene, _ string) { s.remove("cart-0") }, responderkit.ErrGone},
		"the Eviction is deleted": {func(s *scene, eviction string) {
			if err := s.admin.LifecycleV1alpha1().Evictions(s.namespace).Delete(t.Context(), eviction, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}, responderkit.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.scene(t)
			s.endsTheRun(func(eviction string) { tc.what(s, eviction) }, tc.want)
		})
	}
}

func aTurnThatIsInterrupted(t *testing.T, server *server, pass func()) {
	s := server.scene(t)
	s.endsTheRun(func(string) { pass() }, responderkit.ErrInterrupted)
}

// endsTheRun wants a run to be told to end, and to write nothing after that.
func (s *scene) endsTheRun(what func(eviction string), want error) {
	s.t.Helper()
	served := s.serve(untilToldToEnd)
	e := s.awaitHeartbeat(s.evict(s.pod("cart-0")))
	what(e.Name)
	if got := <-served.causes; !errors.Is(got, want) {
		s.t.Errorf("the cause is %v, want %v", got, want)
	}
	served.stop()
	now, err := s.admin.LifecycleV1alpha1().Evictions(s.namespace).Get(s.t.Context(), e.Name, metav1.GetOptions{})
	if err != nil || now.UID != e.UID {
		return // it is deleted, and there may be another one
	}
	after := s.entry(now, s.name)
	after.CompletionTime = nil // the controller's, where the pod went first
	if diff := cmp.Diff(s.entry(e, s.name), after); diff != "" {
		s.t.Errorf("its entry was written after its turn (-before +now):\n%s", diff)
	}
}

func twoAtTheSameTime(t *testing.T, server *server) {
	s := server.scene(t)
	met := make(chan string) // each run waits for the other one
	s.serve(func(ctx context.Context, e responderkit.Eviction, _ func(responderkit.Progress)) error {
		select {
		case met <- e.PodName:
		case <-met:
		case <-ctx.Done():
		}
		return nil
	})
	one, two := s.evict(s.pod("cart-0")), s.evict(s.pod("cart-1"))
	s.awaitCompleted(one)
	s.awaitCompleted(two)
}

func anotherPodIsNotRead(t *testing.T, server *server) {
	s := server.scene(t)
	pod := s.pod("cart-0")
	begun, look := make(chan struct{}), make(chan struct{})
	errs := make(chan error)
	s.serve(func(ctx context.Context, e responderkit.Eviction, _ func(responderkit.Progress)) error {
		close(begun)
		for range look {
			_, err := e.ReadPod(context.WithoutCancel(ctx))
			errs <- err
		}
		return nil
	})
	s.evict(pod)
	<-begun
	s.remove(pod.Name)
	look <- struct{}{}
	if err := <-errs; !errors.Is(err, responderkit.ErrPodGone) {
		t.Errorf("without a pod, the error is %v", err)
	}
	other := s.pod("cart-0")
	look <- struct{}{}
	err := <-errs
	want := responderkit.ErrPodGone.Error() + ": pod " + s.namespace + "/cart-0 was replaced by a pod with UID " + string(other.UID) + " instead of " + string(pod.UID)
	if !errors.Is(err, responderkit.ErrPodGone) || err.Error() != want {
		t.Errorf("with another pod, the error is %v", err)
	}
	close(look)
}
