// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	evictionsPath  = "/apis/lifecycle.k8s.io/v1alpha1/evictions"
	namespacesPath = "/api/v1/namespaces"
)

// tellingClock tells of each timer that has begun: only then may a test let time pass.
type tellingClock struct {
	*testingclock.FakeClock
	timers chan struct{}
}

func (c tellingClock) NewTimer(d time.Duration) clock.Timer {
	timer := c.FakeClock.NewTimer(d)
	c.timers <- struct{}{}
	return timer
}

// server is as much of an API server as a watch needs.
type server struct {
	clock tellingClock

	mu      sync.Mutex
	status  map[string]int   // by path; 0: it answers
	objects map[string][]any // by path
	begun   []string         // requests, by path and label selector
	open    int
	changed chan struct{} // closed, and made anew, with each change
}

func newServer(t *testing.T) (*server, *Reader) {
	t.Helper()
	s := &server{
		clock: tellingClock{testingclock.NewFakeClock(noon), make(chan struct{}, 100)}, status: map[string]int{}, objects: map[string][]any{}, changed: make(chan struct{}),
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
	})
	reader, err := New(&rest.Config{Host: web.URL}, s.clock)
	if err != nil {
		t.Fatal(err)
	}
	return s, reader
}

func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until the server is as wanted.
func (s *server) await(t *testing.T, wanted func() bool) {
	t.Helper()
	for {
		s.mu.Lock()
		done, changed := wanted(), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.begun))
}

// ServeHTTP answers a watch that begins with a list, which it holds, or a list.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var code int
	var objects []any
	s.change(func() {
		code, objects = s.status[r.URL.Path], s.objects[r.URL.Path]
		s.begun = append(s.begun, r.URL.Path+"?"+r.URL.Query().Get("labelSelector"))
		s.open++
	})
	defer s.change(func() { s.open-- })
	w.Header().Set("Content-Type", "application/json")
	if code != 0 {
		w.WriteHeader(code)
		reasons := map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound}
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: int32(code), Message: "no", Reason: reasons[code],
		})
		return
	}
	if r.URL.Query().Get("watch") == "" {
		kind := `"apiVersion":"lifecycle.k8s.io/v1alpha1","kind":"EvictionList"`
		if r.URL.Path == namespacesPath {
			kind = `"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList"`
		}
		fmt.Fprintf(w, `{%s,"metadata":{"resourceVersion":"1"},"items":%s}`, kind, asJSON(objects))
		return
	}
	for _, o := range objects {
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", asJSON(o))
	}
	end := objectOf(r.URL.Path, metav1.ObjectMeta{
		ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	})
	fmt.Fprintf(w, `{"type":"BOOKMARK","object":%s}`+"\n", asJSON(end))
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func objectOf(path string, meta metav1.ObjectMeta) any {
	if path == evictionsPath {
		return &evictionv1alpha1.Eviction{
			TypeMeta:   metav1.TypeMeta{APIVersion: evictionv1alpha1.SchemeGroupVersion.String(), Kind: "Eviction"},
			ObjectMeta: meta,
		}
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: meta,
	}
}

func asJSON(o any) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// asked counts the requests for a path. It is called with the lock.
func (s *server) asked(path string) (n int) {
	for _, request := range s.begun {
		if strings.HasPrefix(request, path+"?") {
			n++
		}
	}
	return n
}
