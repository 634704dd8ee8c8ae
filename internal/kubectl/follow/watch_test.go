// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// forbids is a server that refuses some requests, such as "watch nodes".
type forbids struct {
	client.WithWatch
	refused []string
}

func (f forbids) answer(verb string, list client.ObjectList) error {
	resource := ""
	switch list.(type) {
	case *lifecyclev1alpha1.LifecycleEventList:
		resource = "events"
	case *corev1.NodeList:
		resource = "nodes"
	case *corev1.PodList:
		resource = "pods"
	}
	if slices.Contains(f.refused, verb+" "+resource) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
	}
	return nil
}

func (f forbids) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return f.answer("list", list)
}

func (f forbids) Watch(_ context.Context, list client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
	return watch.NewFake(), f.answer("watch", list)
}

func TestOnlyWhatMayBeListedAndWatchedIsWatched(t *testing.T) {
	for name, tc := range map[string]struct {
		refused []string
		want    Scope
		err     []string
	}{
		"who may all, watches all":       {nil, Scope{Nodes: true, Pods: true}, nil},
		"no Nodes without listing them":  {[]string{"list nodes"}, Scope{Pods: true}, nil},
		"nor without watching them":      {[]string{"watch nodes"}, Scope{Pods: true}, nil},
		"no pods without watching them":  {[]string{"watch pods"}, Scope{Nodes: true}, nil},
		"without listing events nothing": {[]string{"list events"}, Scope{}, []string{"read LifecycleEvents", "forbidden"}},
		"and none without watching them": {[]string{"watch events"}, Scope{}, []string{
			"the verb watch on lifecycleevents.lifecycle.k8s.io is missing", "slipway-operator", "forbidden",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readable(t.Context(), forbids{refused: tc.refused}, lifecyclev1alpha1.GroupKubernetes, Scope{Nodes: true, Pods: true})
			if (err != nil) != (len(tc.err) > 0) {
				t.Fatalf("it ends with %v", err)
			}
			for _, text := range tc.err {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in %q", text, err)
				}
			}
			if err == nil && got != tc.want {
				t.Errorf("it watches %+v, want %+v", got, tc.want)
			}
		})
	}
}

// sight notes whether anything can be seen.
type sight struct {
	Store
	found bool
}

func (s *sight) Show(context.Context, time.Time) (bool, error) { return true, nil }

func (s *sight) Found(time.Time) { s.found = true }

// answering is a transport that answers with a code.
type answering int

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

func TestAnAnswerThatRefusesShowsNothing(t *testing.T) {
	for code, want := range map[int]bool{200: true, 404: true, 410: true, 401: false, 403: false, 503: false} {
		box := &inbox{clock: clock.RealClock{}, changed: make(chan struct{}, 1)}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := answers{answering(code), box}.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		seen := &sight{}
		box.deliver(seen)
		if seen.found != want {
			t.Errorf("after an answer %d something can be seen: %v, want %v", code, seen.found, want)
		}
	}
}
