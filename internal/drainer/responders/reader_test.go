// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/drain"
)

const patience = 30 * time.Second

// following is a Follow that goes on.
type following struct {
	t      *testing.T
	reader *Reader
	wake   chan struct{}
	stop   context.CancelFunc
	done   chan struct{}
}

func begin(t *testing.T, r *Reader) *following {
	t.Helper()
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	f := &following{t: t, reader: r, wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		r.Follow(ctx, func(...types.UID) {
			select {
			case f.wake <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(f.end)
	<-f.wake // it has joined the watches: one that joins later could find that they have ended
	return f
}

func (f *following) end() {
	f.stop()
	<-f.done
}

// await waits until it is told what is wanted of pod cart.
func (f *following) await(what string, wanted func(drain.Responders, drain.Response) bool) {
	f.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "cart", Labels: map[string]string{"pod-template-hash": "x"}, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "cart", Controller: new(true)},
	}}}
	giveUp := time.After(patience)
	for {
		told := f.reader.Responders([]*corev1.Pod{pod})
		if wanted(told, told.Pods[pod.UID]) {
			return
		}
		select {
		case <-f.wake:
		case <-giveUp:
			f.t.Fatalf("%s: it is told %+v", what, told)
		}
	}
}

func (s *server) add(e *evictionv1alpha1.Eviction) {
	e.TypeMeta = metav1.TypeMeta{APIVersion: evictionv1alpha1.SchemeGroupVersion.String(), Kind: "Eviction"}
	s.change(func() { s.objects[evictionsPath] = append(s.objects[evictionsPath], e) })
}

func notServed(r drain.Responders, _ drain.Response) bool {
	return r.Known && !r.Served && r.Err == nil
}

func TestWhereEvictionsAreNotServedThatCostsOneRequestInTenMinutes(t *testing.T) {
	for name, status := range map[string]int{"they are not installed": 404, "they may not be read": 403} {
		t.Run(name, func(t *testing.T) {
			s, reader := newServer(t)
			s.status[evictionsPath] = status
			first := begin(t, reader)
			first.await("it is known", notServed)
			second := begin(t, reader)
			second.await("it is known at once", notServed)
			first.end()
			want := []string{evictionsPath + "?"}
			if diff := cmp.Diff(want, s.requests()); diff != "" {
				t.Errorf("what it asked for (-want +got):\n%s", diff)
			}
			s.change(func() { delete(s.status, evictionsPath) })
			<-s.clock.timers
			s.clock.Step(10*time.Minute - time.Second)
			second.await("it is still known", notServed)
			s.clock.Step(time.Second)
			second.await("they are served now", func(r drain.Responders, _ drain.Response) bool { return r.Known && r.Served })
			want = []string{namespacesPath + "?slipway.dev/surge=true", evictionsPath + "?", evictionsPath + "?"}
			if diff := cmp.Diff(want, s.requests()); diff != "" {
				t.Errorf("what it asked for (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneWatchServesAllDrainsAndEndsWithTheLast(t *testing.T) {
	s, reader := newServer(t)
	s.add(newEviction("a", 0, inTurn("example.com/backup", "Active", "half done")))
	s.objects[namespacesPath] = []any{objectOf(namespacesPath, metav1.ObjectMeta{Name: "shop", UID: types.UID("shop")})}
	works := func(r drain.Responders, p drain.Response) bool {
		return r.Known && r.Served && p.Own && p.Responder == "example.com/backup" && p.Message == "half done"
	}
	first, second := begin(t, reader), begin(t, reader)
	first.await("a responder is at work", works)
	second.await("a responder is at work", works)
	first.end()
	second.await("a responder is still at work", works)
	if diff := cmp.Diff([]string{namespacesPath + "?slipway.dev/surge=true", evictionsPath + "?"}, s.requests()); diff != "" {
		t.Errorf("watches (-want +got):\n%s", diff)
	}
	second.end()
	s.await(t, func() bool { return s.open == 0 })
	if told := reader.Responders(nil); told.Known {
		t.Errorf("nobody watches, and it is told %+v", told)
	}
}

func TestAServerThatIsAwayIsAskedAgainAndUntilThenNothingIsKnown(t *testing.T) {
	s, reader := newServer(t)
	s.status[evictionsPath] = 500
	f := begin(t, reader)
	f.await("it cannot be read", func(r drain.Responders, _ drain.Response) bool { return !r.Known && !r.Served && r.Err != nil })
	s.change(func() { delete(s.status, evictionsPath) })
	f.await("it can be read", func(r drain.Responders, _ drain.Response) bool { return r.Known && r.Served && r.Err == nil })
}

func TestNamespacesThatCannotBeReadHideNoResponderAtWork(t *testing.T) {
	s, reader := newServer(t)
	s.add(newEviction("a", 0, inTurn("example.com/backup", "Active", "")))
	s.status[namespacesPath] = 403
	begin(t, reader).await("a responder is at work", func(r drain.Responders, p drain.Response) bool {
		return !r.Known && r.Served && r.Err != nil && p.Responder == "example.com/backup"
	})
}

// They may have been installed a moment ago.
func TestThatEvictionsAreNotServedIsNotBelievedByWhoBeginsWhenNobodyDrains(t *testing.T) {
	s, reader := newServer(t)
	s.status[evictionsPath] = 404
	first := begin(t, reader)
	first.await("it is known", notServed)
	first.end()
	if told := reader.Responders(nil); told.Known {
		t.Errorf("it is told %+v by an answer to a drain that is over", told)
	}
	s.change(func() { delete(s.status, evictionsPath) })
	begin(t, reader).await("they are served now", func(r drain.Responders, _ drain.Response) bool { return r.Known && r.Served })
}

// Of two API servers, one may have the feature off.
func TestOneAnswerThatThereAreNoEvictionsIsNotBelievedWhereTheyWereRead(t *testing.T) {
	s, reader := newServer(t)
	served := func(r drain.Responders, _ drain.Response) bool { return r.Known && r.Served && r.Err == nil }
	first := begin(t, reader)
	first.await("they are served", served)
	first.end()
	s.change(func() { s.status[evictionsPath] = 404 })
	second := begin(t, reader)
	doubted := func(r drain.Responders, _ drain.Response) bool { return !r.Known && r.Err != nil }
	second.await("it is doubted", doubted)
	s.await(t, func() bool { return s.asked(evictionsPath) >= 3 })
	second.await("it is doubted also when it is said again at once", doubted)
	s.clock.Step(5 * time.Second)
	second.await("it is believed", notServed)
}
