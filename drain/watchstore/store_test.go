// SPDX-License-Identifier: Apache-2.0

package watchstore

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func newPod(name string, uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
}

func toPod(obj any) (*corev1.Pod, bool) {
	pod, ok := obj.(*corev1.Pod)
	return pod, ok && pod.Name != "unwanted"
}

// The Reflector waits for its clock, up to a minute, without a look at its context, while it cannot reach the server.
func TestAWatchEndsAtOnceWhileTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := From("test", &corev1.Pod{},
			func(context.Context, metav1.ListOptions) (*corev1.PodList, error) { return nil, syscall.ECONNREFUSED },
			func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, syscall.ECONNREFUSED })
		s := New(Options[*corev1.Pod]{Convert: toPod})
		stop := s.Start(t.Context(), away)
		<-time.After(10 * time.Minute)
		if err := s.Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the error is %v", err)
		}
		begin := time.Now()
		stop()
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// An overloaded API server answers a watch that begins with a list only if its watch cache is less than 3 s late.
func TestAStoreListsWhileTheWatchCacheIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := apierrors.NewTimeoutError("Too large resource version: 12, current: 3", 1)
		late.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		overloaded := From("test", &corev1.Pod{},
			func(_ context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
				if options.ResourceVersion != "" {
					t.Errorf("version %q is listed, which may be from the cache", options.ResourceVersion)
				}
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "12"}, Items: []corev1.Pod{*newPod("a", "a")}}, nil
			},
			func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
				<-time.After(3 * time.Second)
				if options.SendInitialEvents != nil {
					return nil, late
				}
				return watch.NewFake(), nil
			})
		s := New(Options[*corev1.Pod]{Convert: toPod})
		defer s.Start(t.Context(), overloaded)()
		<-time.After(time.Minute)
		if pods, synced := s.List(); len(pods) != 1 || !synced {
			t.Errorf("%d pods, synced: %t", len(pods), synced)
		}
	})
}

func TestAStoreTellsObjectsOfOneNameApart(t *testing.T) {
	s := New(Options[*corev1.Pod]{Convert: toPod})
	if _, synced := s.List(); synced {
		t.Error("synced before anything was shown")
	}
	first := newPod("a", "first")
	_ = s.Replace([]any{first, newPod("unwanted", "x")}, "1")
	_ = s.Add(newPod("a", "second"))
	_ = s.Delete(first) // the end of the old one, told after the beginning of the new one
	if pods, _ := s.List(); len(pods) != 1 || pods[0].UID != "second" {
		t.Errorf("got %v, want the new one alone", pods)
	}
	_ = s.Replace(nil, "2")
	if pods, synced := s.List(); len(pods) != 0 || !synced {
		t.Errorf("got %d pods, synced %t", len(pods), synced)
	}
}

func TestAStoreKeepsAnErrorWhileItLasts(t *testing.T) {
	s := New(Options[*corev1.Pod]{Convert: toPod})
	s.Heard(t.Context(), errors.New("away"))
	s.Heard(t.Context(), apierrors.NewResourceExpired("too old")) // not worth telling, and not good news
	if s.Err() == nil {
		t.Error("forgotten")
	}
	s.Heard(t.Context(), nil)
	if err := s.Err(); err != nil {
		t.Errorf("still %v", err)
	}
}

func TestChangesThatMatterHaveARevision(t *testing.T) {
	var told []Change[string]
	s := New(Options[string]{
		Convert: func(obj any) (string, bool) {
			pod, wanted := toPod(obj)
			return pod.Spec.NodeName, wanted
		},
		Index:   func(node string) types.UID { return types.UID(node) },
		Same:    func(before, after string) bool { return before == after },
		Changed: func(c Change[string]) { told = append(told, c) },
	})
	on := func(node, name string) *corev1.Pod {
		pod := newPod(name, "uid")
		pod.Spec.NodeName = node
		return pod
	}
	for _, step := range []struct {
		what     string
		do       func() error
		want     []Change[string]
		revision int
		indexed  int
	}{
		{"all are read", func() error { return s.Replace([]any{on("n1", "a")}, "1") }, []Change[string]{{Differs: true}}, 1, 1},
		{"nothing that matters", func() error { return s.Update(on("n1", "a")) }, []Change[string]{{UID: "uid", Before: new("n1"), After: new("n1")}}, 1, 1},
		{"another node", func() error { return s.Update(on("n2", "a")) }, []Change[string]{{UID: "uid", Before: new("n1"), After: new("n2"), Differs: true}}, 2, 0},
		{"not wanted any more", func() error { return s.Update(on("n2", "unwanted")) }, []Change[string]{{UID: "uid", Before: new("n2"), Differs: true}}, 3, 0},
		{"gone", func() error { return s.Delete(on("n2", "unwanted")) }, nil, 3, 0},
		{"back", func() error { return s.Add(on("n1", "a")) }, []Change[string]{{UID: "uid", After: new("n1"), Differs: true}}, 4, 1},
		{"cannot be read", func() error { s.Heard(t.Context(), errors.New("no")); return nil }, []Change[string]{{}}, 4, 1},
	} {
		told = nil
		if err := step.do(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(step.want, told); diff != "" {
			t.Errorf("%s: told (-want +got):\n%s", step.what, diff)
		}
		if _, revision, _ := s.ListRevision(); revision != step.revision || len(s.Indexed("n1")) != step.indexed {
			t.Errorf("%s: revision %d, want %d; %d on the node, want %d", step.what, revision, step.revision, len(s.Indexed("n1")), step.indexed)
		}
		if _, _, ok := s.Pick(nil, step.revision-1); ok {
			t.Errorf("%s: the revision before is said to be the same", step.what)
		}
	}
}
