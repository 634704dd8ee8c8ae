// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watches are the open watches.
type watches struct {
	mu     sync.Mutex
	open   map[*watch]bool
	opened chan struct{} // closed and replaced with each
}

func newWatches() watches { return watches{open: map[*watch]bool{}, opened: make(chan struct{})} }

// inJSON requests the events of a watch in plain JSON, whose objects can be separated: clients accept that in
// addition to their preferred encoding.
func inJSON(r *http.Request) {
	if !isWatch(r) {
		return
	}
	var kept []string
	for choice := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if strings.HasPrefix(strings.TrimSpace(choice), "application/json") {
			kept = append(kept, choice)
		}
	}
	if len(kept) == 0 {
		kept = []string{"application/json"}
	}
	r.Header.Set("Accept", strings.Join(kept, ","))
	r.Header.Set("Accept-Encoding", "identity") // servers compress watches as well
}

func isWatch(r *http.Request) bool {
	asked := r.URL.Query().Get("watch")
	return r.Method == http.MethodGet && (asked == "true" || asked == "1")
}

// follow takes over the body of an answer that is a watch.
func (ws *watches) follow(r *http.Response) {
	if !isWatch(r.Request) || r.StatusCode != http.StatusOK {
		return
	}
	w := &watch{of: ws, server: r.Body, objects: json.NewDecoder(r.Body)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.open[w] = true
	close(ws.opened)
	ws.opened = make(chan struct{})
	r.Body = w
}

// expire ends all watches. It returns how many there were, and a channel that is closed with the next watch.
func (ws *watches) expire() (n int, opened <-chan struct{}) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	n = len(ws.open)
	for w := range ws.open {
		w.expired.Store(true)
		_ = w.server.Close() // ends a Read that waits
		delete(ws.open, w)
	}
	return n, ws.opened
}

// watch is the body of a watch. It has the objects of the server until it expires.
type watch struct {
	of      *watches
	server  io.ReadCloser
	objects *json.Decoder
	expired atomic.Bool

	rest []byte
	end  error
}

// Read reads whole objects, a part of one at a time: the client sees no part of an object before it expires.
func (w *watch) Read(b []byte) (int, error) {
	if len(w.rest) == 0 && w.end == nil {
		var object json.RawMessage
		if w.end = w.objects.Decode(&object); w.end == nil {
			object = append(object, '\n')
			w.rest = object
		} else if w.expired.Load() {
			w.rest, w.end = gone(), io.EOF
		}
	}
	n := copy(b, w.rest)
	if w.rest = w.rest[n:]; len(w.rest) > 0 {
		return n, nil
	}
	return n, w.end
}

// gone is the answer of a server whose history does not go back so far.
func gone() []byte {
	status := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	status.Message = "too old resource version: the test has it expire"
	text, err := json.Marshal(map[string]any{"type": "ERROR", "object": status})
	if err != nil {
		panic(err) // of constants
	}
	return append(text, '\n')
}

// Close closes the server's body.
func (w *watch) Close() error {
	w.of.mu.Lock()
	delete(w.of.open, w)
	w.of.mu.Unlock()
	return w.server.Close()
}
