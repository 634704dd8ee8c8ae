// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// upTo is a store that has shown everything up to a resource version.
type upTo string

func (s upTo) LastStoreSyncResourceVersion() string { return string(s) }

func at(uid types.UID, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(uid), UID: uid, ResourceVersion: version}}
}

// text tells objects apart by version and deletion.
func text(all []*corev1.Pod) []string {
	var texts []string
	for _, o := range all {
		text := o.ResourceVersion
		if o.DeletionTimestamp != nil {
			text += " deleted"
		}
		texts = append(texts, text)
	}
	return texts
}

func TestAWriteCountsUntilTheWatchHasShownIt(t *testing.T) {
	type pods = []*corev1.Pod
	written := func(w *Writes[*corev1.Pod]) { w.Keep(at("r", "5")) }
	deleted := func(w *Writes[*corev1.Pod]) { w.Deleted(at("r", "5")) }
	for name, tc := range map[string]struct {
		write   func(*Writes[*corev1.Pod])
		shown   string
		seen    pods
		others  bool // list is about other objects
		want    []string
		unshown bool
	}{
		"nothing is shown yet":                     {write: written, shown: "4", want: []string{"5"}, unshown: true},
		"an older version is shown":                {write: written, shown: "4", seen: pods{at("r", "4")}, want: []string{"5"}, unshown: true},
		"it is shown":                              {write: written, shown: "5", seen: pods{at("r", "5")}, want: []string{"5"}},
		"a newer version is shown":                 {write: written, shown: "6", seen: pods{at("r", "6")}, want: []string{"6"}},
		"it is shown while the store is read":      {write: written, shown: "4", seen: pods{at("r", "5")}, want: []string{"5"}},
		"it is gone":                               {write: written, shown: "6"}, // before its answer was there to be kept
		"it is gone, and another is there":         {write: written, shown: "7", seen: pods{at("s", "7")}, want: []string{"7"}},
		"how far the store is, is unknown":         {write: written, want: []string{"5"}, unshown: true},
		"another object is shown":                  {write: written, shown: "4", seen: pods{at("s", "3")}, want: []string{"3", "5"}, unshown: true},
		"not shown yet, and not listed":            {write: written, shown: "4", others: true, unshown: true},
		"shown, and not listed":                    {write: written, shown: "5", others: true},
		"deleted, and the store is late":           {write: deleted, shown: "5", seen: pods{at("r", "5")}, want: []string{"5 deleted"}, unshown: true},
		"deleted, and the store shows others":      {write: deleted, shown: "9", seen: pods{at("r", "5")}, want: []string{"5 deleted"}, unshown: true},
		"deleted, and changed by another":          {write: deleted, shown: "6", seen: pods{at("r", "6")}, want: []string{"6"}},
		"deleted, and gone":                        {write: deleted, shown: "6"},
		"deleted before it is shown":               {write: deleted, shown: "4", want: []string{"5 deleted"}, unshown: true},
		"deleted, and the list is about others":    {write: deleted, shown: "9", others: true, unshown: true},
		"answers come in the wrong order":          {write: func(w *Writes[*corev1.Pod]) { w.Keep(at("r", "10")); w.Keep(at("r", "9")) }, shown: "4", want: []string{"10"}, unshown: true},
		"forgotten":                                {write: func(w *Writes[*corev1.Pod]) { written(w); w.Forget("r") }, shown: "4", seen: pods{at("r", "4")}, want: []string{"4"}},
		"another is created under the same name":   {write: written, shown: "4", seen: pods{at("q", "3")}, want: []string{"3", "5"}, unshown: true},
		"a version that is no number is not newer": {write: func(w *Writes[*corev1.Pod]) { w.Keep(at("r", "x")) }, shown: "4", seen: pods{at("r", "4")}, want: []string{"4"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New[*corev1.Pod](upTo(tc.shown))
			tc.write(w)
			got, err := w.Newest(func() ([]*corev1.Pod, error) { return tc.seen, nil }, func(*corev1.Pod) bool { return !tc.others })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, text(got)); diff != "" {
				t.Errorf("what counts (-want +got):\n%s", diff)
			}
			if w.Unshown() != tc.unshown {
				t.Errorf("a write is unshown: %t", w.Unshown())
			}
		})
	}
}

// TestByIndex reads from the store of an informer.
func TestByIndex(t *testing.T) {
	const byApp = "app"
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byApp: func(o any) ([]string, error) {
		return []string{o.(*corev1.Pod).Labels[byApp]}, nil
	}})
	labelled := func(uid types.UID, version, app string) *corev1.Pod {
		pod := at(uid, version)
		pod.Labels = map[string]string{byApp: app}
		return pod
	}
	for _, pod := range []*corev1.Pod{labelled("a", "1", "web"), labelled("b", "2", "shop")} {
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	w := New[*corev1.Pod](store)
	w.Keep(labelled("a", "3", "web"))
	w.Keep(labelled("c", "4", "shop"))
	for app, want := range map[string][]string{"web": {"3"}, "shop": {"2", "4"}, "other": nil} {
		got, err := w.ByIndex(store, byApp, app)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, text(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", app, diff)
		}
	}
	// The store has come as far as the writes: c is gone.
	if err := store.Update(labelled("a", "4", "web")); err != nil {
		t.Fatal(err)
	}
	if got, err := w.ByIndex(store, byApp, "shop"); err != nil || len(got) != 1 || w.Unshown() {
		t.Errorf("got %v, error %v, unshown: %t", text(got), err, w.Unshown())
	}
}
