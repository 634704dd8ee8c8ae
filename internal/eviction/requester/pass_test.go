// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// oneEvent is a cache that has one event.
type oneEvent struct {
	cache.Cache
	event *lifecyclev1alpha1.LifecycleEvent
}

func (c oneEvent) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*lifecyclev1alpha1.LifecycleEventList).Items = []lifecyclev1alpha1.LifecycleEvent{*c.event}
	return nil
}

// onPods are the requests that a pass makes where reading pod a fails, and nobody responds
// for the others.
func onPods(t *testing.T, w *world) (r *Requester, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, in.Method+" "+in.URL.Path)
		out.Header().Set("Content-Type", "application/json")
		name := in.URL.Path[strings.LastIndex(in.URL.Path, "/")+1:]
		if name == "a" {
			out.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = out.Write([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"` + name + `","uid":"u-` + name + `"},"spec":{"nodeName":"n1"}}`))
	}))
	t.Cleanup(web.Close)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	r = &Requester{
		Options: Options{
			Events: oneEvent{event: w.event}, Clock: testingclock.NewFakeClock(time.Unix(0, 0)),
			Responds: func(context.Context, *corev1.Pod) (bool, error) { return false, nil },
		},
		clients: clients, memory: newMemory(),
	}
	if _, err := r.newInformer(); err != nil {
		t.Fatal(err)
	}
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		was := paths
		paths = nil
		return was
	}
}

func TestAPodThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	w := newWorld()
	w.addEvent(lifecyclev1alpha1.Claimed)
	w.name("a", "b", "c")
	r, asked := onPods(t, w)
	if failures := r.settle(t.Context(), "e1"); len(failures) != 1 || len(asked()) != 3 {
		t.Errorf("failures: %v; want one, of three pods", failures)
	}
	if failures := r.settle(t.Context(), "e1"); len(failures) != 1 {
		t.Errorf("failures: %v; want one", failures)
	}
	if got := asked(); len(got) != 1 {
		t.Errorf("it asks for %v; want that nobody is asked again who responds for the others", got)
	}
}
