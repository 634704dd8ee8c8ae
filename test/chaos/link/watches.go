// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watches are those that are open.
type watches struct {
	mu     sync.Mutex
	open   map[*watch]bool
	opened chan struct{} // closed, and made anew, with each
}

func newWatches() watches { return watches{open: map[*watch]bool{}, opened: make(chan struct{})} }

// inJSON has a watch answered in plain JSON, whose objects can be told apart: clients understand that
// as well as what they would rather have.
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

// follow keeps an eye on the answer if it is a watch.
func (ws *watches) follow(r *http.Response) {
	if !isWatch(r.Request) || r.StatusCode != http.StatusOK {
		return
	}
	w := &watch{
		of: ws, server: r.Body, lines: make(chan line), expired: make(chan struct{}), closed: make(chan struct{}),
	}
	ws.mu.Lock()
	ws.open[w] = true
	close(ws.opened)
	ws.opened = make(chan struct{})
	ws.mu.Unlock()
	r.Body = w
	go w.pump() // until the body is closed, which a proxy does
}

// expire returns how many there were, and what is closed when there is another one.
func (ws *watches) expire() (n int, opened <-chan struct{}) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	n = len(ws.open)
	for w := range ws.open {
		close(w.expired)
		delete(ws.open, w)
	}
	return n, ws.opened
}

type line struct {
	text []byte
	err  error
}

// watch is what a server says on a watch, until it is to say that it has expired.
type watch struct {
	of      *watches
	server  io.ReadCloser
	lines   chan line
	expired chan struct{}
	once    sync.Once
	closed  chan struct{}

	rest []byte
	end  error
}

// pump reads one object after the other: whether a line ends after each is the server's.
func (w *watch) pump() {
	from := json.NewDecoder(w.server)
	for {
		var text json.RawMessage
		err := from.Decode(&text)
		if err == nil {
			text = append(text, '\n')
		}
		select {
		case w.lines <- line{text, err}:
		case <-w.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read reads whole objects, a part of one at a time.
func (w *watch) Read(b []byte) (int, error) {
	if len(w.rest) == 0 {
		if w.end != nil {
			return 0, w.end
		}
		select {
		case <-w.expired:
			w.rest, w.end = gone(), io.EOF
		case l := <-w.lines:
			w.rest, w.end = l.text, l.err
		}
	}
	n := copy(b, w.rest)
	w.rest = w.rest[n:]
	if len(w.rest) == 0 {
		return n, w.end
	}
	return n, nil
}

// gone is what a server says whose history does not go back so far.
func gone() []byte {
	status := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	status.Message = "too old resource version: the test has it expire"
	text, err := json.Marshal(map[string]any{"type": "ERROR", "object": status})
	if err != nil {
		panic(err) // of constants
	}
	return append(text, '\n')
}

// Close closes it.
func (w *watch) Close() error {
	w.once.Do(func() {
		close(w.closed)
		w.of.mu.Lock()
		delete(w.of.open, w)
		w.of.mu.Unlock()
	})
	return w.server.Close()
}
