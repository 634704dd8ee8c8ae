// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bufio"
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// server counts what it is asked for, and tells who asks; a watch says what it is given.
type server struct {
	*httptest.Server
	done atomic.Int64
	say  chan string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{say: make(chan string)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.done.Add(1)
		if !isWatch(r) {
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
			return
		}
		w.Header().Set("Accepted", r.Header.Get("Accept")+", "+r.Header.Get("Accept-Encoding"))
		w.WriteHeader(http.StatusOK)
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case text := <-s.say:
				_, _ = io.WriteString(w, text)
			case <-r.Context().Done():
				return
			}
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) link(t *testing.T, per100 int) (*Link, *http.Client) {
	t.Helper()
	config := &rest.Config{Host: s.URL, BearerToken: "me"}
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	l, err := Open(config, 1, per100)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	client, err := rest.HTTPClientFor(l.Config(config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return l, client
}

func (l *Link) get(ctx context.Context, t *testing.T, client *http.Client, query string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.server.URL+"/x"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	return client.Do(request)
}

func text(t *testing.T, response *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func TestTheTokenGoesOn(t *testing.T) {
	l, client := newServer(t).link(t, 0)
	response, err := l.get(t.Context(), t, client, "")
	if got := text(t, response, err); got != "Bearer me" {
		t.Errorf("the server was told %q", got)
	}
	if response.ProtoMajor != 2 {
		t.Errorf("it speaks %s", response.Proto)
	}
}

func TestACutLinkRefuses(t *testing.T) {
	s := newServer(t)
	l, client := s.link(t, 0)
	watching, err := l.get(t.Context(), t, client, "?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Body.Close()
	before := s.done.Load()
	l.Cut()
	if _, err := io.ReadAll(watching.Body); err == nil {
		t.Error("a watch has ended well")
	}
	if response, err := l.get(t.Context(), t, client, ""); err == nil {
		response.Body.Close()
		t.Error("it has answered")
	}
	if s.done.Load() != before {
		t.Error("the server was asked")
	}
	l.Mend()
	response, err := l.get(t.Context(), t, client, "")
	if got := text(t, response, err); got != "Bearer me" {
		t.Errorf("after it was mended: %q", got)
	}
}

func TestALinkThatHangsGoesOn(t *testing.T) {
	s := newServer(t)
	l, client := s.link(t, 0)
	response, err := l.get(t.Context(), t, client, "")
	_ = text(t, response, err)
	l.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if response, err := l.get(ctx, t, client, ""); err == nil {
		response.Body.Close()
		t.Error("it has answered")
	}
	answered := make(chan string)
	go func() {
		response, err := l.get(t.Context(), t, client, "")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		all, _ := io.ReadAll(response.Body)
		answered <- string(all)
	}()
	l.Mend()
	if got := <-answered; got != "Bearer me" {
		t.Errorf("after it was mended: %q", got)
	}
}

func TestWatchesExpire(t *testing.T) {
	s := newServer(t)
	l, client := s.link(t, 0)
	response, err := l.get(t.Context(), t, client, "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Accepted"); got != "application/json, identity" {
		t.Errorf("the server was asked for %q", got)
	}
	lines := bufio.NewScanner(response.Body)
	s.say <- `{"type":"ADDED"}` // with no end of a line
	if !lines.Scan() || lines.Text() != `{"type":"ADDED"}` {
		t.Fatalf("the watch says %q", lines.Text())
	}
	if n, err := l.Expire(t.Context()); n != 1 || err != nil {
		t.Errorf("%d watches have expired: %v", n, err)
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), `"type":"ERROR"`) || !strings.Contains(lines.Text(), `"code":410`) {
		t.Errorf("the watch says %q", lines.Text())
	}
	if lines.Scan() {
		t.Errorf("it goes on: %q", lines.Text())
	}
	nobody, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := l.Expire(nobody); n != 0 || err == nil {
		t.Errorf("%d watches are left: %v", n, err)
	}
}

func TestTheFirstWatchIsWaitedFor(t *testing.T) {
	l, client := newServer(t).link(t, 0)
	expired := make(chan int)
	go func() {
		n, _ := l.Expire(t.Context())
		expired <- n
	}()
	response, err := l.get(t.Context(), t, client, "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if n := <-expired; n != 1 {
		t.Errorf("%d watches have expired", n)
	}
}

// TestMishaps: all kinds come, about as often as they should, and the server has done what
// was lost on its return, and nothing of what was lost on its way.
func TestMishaps(t *testing.T) {
	s := newServer(t)
	l, client := s.link(t, 5)
	const asked = 2000
	got := map[string]int{}
	for range asked {
		response, err := l.get(t.Context(), t, client, "")
		if err != nil {
			got["lost"]++
			continue
		}
		got[response.Status[:3]]++
		response.Body.Close()
	}
	seen, counted := l.Mishaps()
	if counted != asked {
		t.Errorf("%d requests were counted, of %d", counted, asked)
	}
	all := 0
	for _, kind := range Kinds {
		if seen[kind] == 0 {
			t.Errorf("never: %s", kind)
		}
		all += seen[kind]
	}
	if all < asked*3/100 || all > asked*7/100 {
		t.Errorf("something went wrong in %d of %d", all, asked)
	}
	if got["500"] != seen[internalError] || got["503"] != seen[unavailable] || got["429"] != seen[busy]+seen[busyRetry] ||
		got["lost"] != seen[lostRequest]+seen[lostReply] {
		t.Errorf("answered was %v, and should be %v", got, seen)
	}
	if done := s.done.Load(); done != int64(asked-all+seen[lostReply]) {
		t.Errorf("the server was asked %d times, and answered %v", done, got)
	}
}
