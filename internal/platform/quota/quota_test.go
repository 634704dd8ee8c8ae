// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ofTwo keeps two ConfigMaps of each namespace except "free".
var ofTwo = Limit{Kind: "ConfigMap", Most: 2, Group: func(o metav1.Object) string {
	if o.GetNamespace() == "free" {
		return ""
	}
	return o.GetNamespace()
}}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
}

// server lists objects, and its last watch is a fake.
type server struct {
	objects []*corev1.ConfigMap
	watch   *watch.FakeWatcher
}

func (s *server) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.ConfigMapList{}
			for _, o := range s.objects {
				list.Items = append(list.Items, *o)
			}
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			s.watch = watch.NewFake()
			return s.watch, nil
		},
	}
}

func names(t *testing.T, list runtime.Object, err error) (names []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.(*corev1.ConfigMapList).Items {
		names = append(names, string(o.UID))
	}
	return names
}

func TestAListHasTheFirstObjectsOfEachGroup(t *testing.T) {
	s := &server{objects: []*corev1.ConfigMap{
		configMap("a", "1"), configMap("a", "2"), configMap("a", "3"), configMap("b", "1"), configMap("free", "1"), configMap("free", "2"), configMap("free", "3"),
	}}
	lw := s.listWatch()
	q := New(ofTwo)
	for range 2 { // a second list counts anew
		list, err := q.List(lw.ListWithContext)(t.Context(), metav1.ListOptions{})
		if diff := cmp.Diff([]string{"a/1", "a/2", "b/1", "free/1", "free/2", "free/3"}, names(t, list, err)); diff != "" {
			t.Error(diff)
		}
	}
	list, err := q.List(lw.ListWithContext)(t.Context(), metav1.ListOptions{Continue: "page 2"})
	if diff := cmp.Diff([]string{"a/1", "a/2", "b/1", "free/1", "free/2", "free/3"}, names(t, list, err)); diff != "" {
		t.Errorf("another page: %s", diff)
	}
}

func TestAWatchDropsObjectsOfFullGroups(t *testing.T) {
	s := &server{}
	lw := s.listWatch()
	q := New(ofTwo)
	watching, err := q.Watch(lw.WatchWithContext)(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	type step struct {
		do   watch.EventType
		name string
		want watch.EventType // empty: dropped
	}
	for _, step := range []step{
		{watch.Added, "1", watch.Added},
		{watch.Added, "2", watch.Added},
		{watch.Added, "3", ""},
		{watch.Modified, "3", ""},
		{watch.Modified, "1", watch.Modified},
		{watch.Deleted, "3", ""},
		{watch.Deleted, "1", watch.Deleted},
		{watch.Modified, "4", watch.Added}, // dropped before
		{watch.Deleted, "4", watch.Deleted},
		{watch.Bookmark, "4", watch.Bookmark},
	} {
		go func() {
			s.watch.Action(step.do, configMap("a", step.name))
			s.watch.Action(watch.Bookmark, configMap("a", "end of the step"))
		}()
		var got watch.EventType
		for e := range watching.ResultChan() {
			if e.Object.(*corev1.ConfigMap).Name == "end of the step" {
				break
			}
			got = e.Type
		}
		if got != step.want {
			t.Errorf("%s %s: the watch shows %q, want %q", step.do, step.name, got, step.want)
		}
	}
	// The group was full, and has room: the next watch must begin with a list.
	if _, err := q.Watch(lw.WatchWithContext)(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("the next watch: %v", err)
	}
	if _, err := q.Watch(lw.WatchWithContext)(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)}); err != nil {
		t.Errorf("a watch that lists: %v", err)
	}
	if _, err := q.Watch(lw.WatchWithContext)(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the watch after that: %v", err)
	}
}

// TestNoHistoryExceedsALimit plays random histories: a watch shows at most Most objects of a group, and all if there are no more.
func TestNoHistoryExceedsALimit(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		q := New(ofTwo)
		exists, shown := map[string]bool{}, map[string]bool{}
		for range 200 {
			name := fmt.Sprint(random.IntN(6))
			e := watch.Event{Type: watch.Added, Object: configMap("a", name)}
			switch {
			case exists[name] && random.IntN(2) == 0:
				e.Type = watch.Deleted
				delete(exists, name)
			case exists[name]:
				e.Type = watch.Modified
			default:
				exists[name] = true
			}
			out, passes := q.filter(t.Context(), e)
			if passes == (out.Type == watch.Added) && shown[name] || passes && out.Type != watch.Added && !shown[name] {
				t.Fatalf("seed %d: the watch shows %s of %s, which it has shown: %t", seed, out.Type, name, shown[name])
			}
			switch {
			case passes && out.Type == watch.Deleted:
				delete(shown, name)
			case passes:
				shown[name] = true
			}
			if len(shown) > ofTwo.Most || len(q.kept) != len(shown) || len(shown) < min(len(exists), ofTwo.Most) && !q.isStale() {
				t.Fatalf("seed %d: it shows %v of %v, and keeps %v; stale %t", seed, shown, exists, q.kept, q.isStale())
			}
		}
	}
}

func TestAnInformerKeepsTheLimit(t *testing.T) {
	s := &server{objects: []*corev1.ConfigMap{configMap("a", "1"), configMap("a", "2"), configMap("a", "3"), configMap("b", "1")}}
	build := Informers(func(example runtime.Object) (Limit, bool) {
		_, limited := example.(*corev1.ConfigMap)
		return ofTwo, limited
	})
	lw := cache.ToListWatcherWithWatchListSemantics(s.listWatch(), unsupported{})
	informer := build(lw, &corev1.ConfigMap{}, time.Duration(0), cache.Indexers{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	var keys []string
	for _, o := range informer.GetStore().List() {
		keys = append(keys, string(o.(*corev1.ConfigMap).UID))
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"a/1", "a/2", "b/1"}, keys); diff != "" {
		t.Error(diff)
	}
}

// unsupported is a client without watches that list.
type unsupported struct{}

func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }
