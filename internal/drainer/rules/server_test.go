// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	freezesPath    = "/apis/slipway.dev/v1alpha1/freezes"
	rulesPath      = "/apis/slipway.dev/v1alpha1/drainrules"
	namespacesPath = "/api/v1/namespaces"
)

// server is as much of an API server as a watch needs.
type server struct {
	mu      sync.Mutex
	status  map[string]int   // by path; 0: it answers
	objects map[string][]any // by path
	begun   []string         // requests, by path and field selector
	open    int
	changed chan struct{} // closed, and made anew, with each change
}

func newServer(t *testing.T) (*server, *Reader) {
	t.Helper()
	s := &server{status: map[string]int{}, objects: map[string][]any{}, changed: make(chan struct{})}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
	})
	reader, err := New(&rest.Config{Host: web.URL}, "own")
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

// requests returns the requests about rules and namespaces. Each watch of rules has one of Freezes beside it.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.begun), func(path string) bool { return path == freezesPath+"?" })
}

// ServeHTTP answers a list, or a watch that begins with a list, which it holds.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var code int
	var objects []any
	s.change(func() {
		code, objects = s.status[r.URL.Path], s.objects[r.URL.Path]
		s.begun = append(s.begun, r.URL.Path+"?"+r.URL.Query().Get("fieldSelector"))
		s.open++
	})
	defer s.change(func() { s.open-- })
	w.Header().Set("Content-Type", "application/json")
	if code != 0 {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: int32(code), Message: "no", Reason: map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound}[code],
		})
		return
	}
	if r.URL.Query().Get("watch") == "" {
		kind := `"apiVersion":"slipway.dev/v1alpha1","kind":"DrainRuleList"`
		switch r.URL.Path {
		case freezesPath:
			kind = `"apiVersion":"slipway.dev/v1alpha1","kind":"FreezeList"`
		case namespacesPath:
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
	if path == freezesPath {
		return &slipwayv1alpha1.Freeze{
			TypeMeta: metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "Freeze"}, ObjectMeta: meta,
		}
	}
	if path == rulesPath {
		return &slipwayv1alpha1.DrainRule{
			TypeMeta:   metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "DrainRule"},
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
