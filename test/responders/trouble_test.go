// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/responderkit"
	"github.com/slipway-k8s/slipway/test/harness"
)

// Somebody changes a condition as fast as they can, while a run begins and completes: no
// write of the one is lost to the other.
func aStormOfWrites(t *testing.T, server *server) {
	s := server.scene(t)
	begun := make(chan struct{})
	finish := make(chan struct{})
	s.serve(func(context.Context, responderkit.Eviction, func(responderkit.Progress)) error {
		close(begun)
		<-finish
		return nil
	})
	e := s.evict(s.pod("cart-0"))
	<-begun
	close(finish)
	for i := 0; ; i++ {
		want := strconv.Itoa(i)
		now := s.change(e.Name, func(e *evictionv1alpha1.Eviction) {
			if c := meta.FindStatusCondition(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)); i > 0 && c.Message != strconv.Itoa(i-1) {
				t.Errorf("the message of the condition is %q, %d was written last", c.Message, i-1)
			}
			meta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{
				Type: string(evictionv1alpha1.EvictionConditionTargetEvicted), Status: metav1.ConditionFalse,
				Reason: string(evictionv1alpha1.EvictionConditionReasonAwaitingEviction), Message: want,
			})
		})
		if got := s.entry(now, s.name); got.CompletionTime != nil && i > 100 {
			t.Logf("it was written %d times", i)
			return
		}
		if t.Context().Err() != nil || t.Failed() {
			return
		}
	}
}

func aShutdown(t *testing.T, server *server) {
	s := server.scene(t)
	first := s.serve(untilToldToEnd)
	e := s.awaitHeartbeat(s.evict(s.pod("cart-0")))
	first.stop()
	if got := <-first.causes; !errors.Is(got, responderkit.ErrShutdown) {
		t.Errorf("the cause is %v", got)
	}
	if s.entry(s.now(e.Name), s.name).CompletionTime != nil {
		t.Error("the shutdown has completed the turn")
	}
	s.serve(func(context.Context, responderkit.Eviction, func(responderkit.Progress)) error { return nil })
	s.awaitCompleted(e)
}

// The command of the example writes its process id into one pipe, and waits for another.
// That is one of its own: a pipe that two wait for has ended for the one that comes late.
func aKilledResponder(t *testing.T, server *server) {
	s := server.scene(t)
	dir := t.TempDir()
	began, first, second := filepath.Join(dir, "began"), filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, fifo := range []string{began, first, second} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func(finish string) *harness.Process {
		return harness.StartProcess(t, "backup-responder", nil, binary(t, "backup-responder"),
			"--kubeconfig", s.Facts.Kubeconfig, "--name", s.name, "--namespace", s.namespace,
			"--", "sh", "-c", "echo $$ {pod} > "+began+"; cat "+finish)
	}
	killed := start(first)
	e := s.evict(s.pod("cart-0"))
	orphan := read(t, began)
	s.awaitHeartbeat(e)
	killed.Kill()
	next := start(second)
	if again := read(t, began); again == orphan || again == "" {
		t.Errorf("the command of the second process is %q, of the first %q", again, orphan)
	}
	if s.entry(s.now(e.Name), s.name).CompletionTime != nil {
		t.Error("the killed process has completed its turn")
	}
	// What the killed process began goes on without it.
	for _, finish := range []string{first, second} {
		if err := os.WriteFile(finish, []byte("done\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e = s.awaitCompleted(e)
	if got := message(s.entry(e, s.name)); got != "the backup is complete" {
		t.Errorf("the message is %q", got)
	}
	next.Stop()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// offClock is a clock that is off.
type offClock struct {
	clock.RealClock

	by atomic.Int64
}

func (c *offClock) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func aClockThatIsOff(t *testing.T, server *server) {
	s := server.scene(t)
	off := &offClock{}
	off.by.Store(int64(-2 * time.Minute))
	served := s.serve(untilToldToEnd, func(c *responderkit.Config) { c.Clock = off })
	e := s.evict(s.pod("cart-0"))
	served.log.await(t, "the server accepts only times within 30s of its clock; the time of this process is 20")
	off.by.Store(0)
	s.awaitHeartbeat(e)
}

func missingRights(t *testing.T, server *server) {
	s := server.scene(t)
	served := s.serve(untilToldToEnd, func(c *responderkit.Config) { c.RESTConfig = s.as("default") })
	served.log.await(t, "let this process list and watch evictions in API group lifecycle.k8s.io")
}
