// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func TestATokenIsRenewedAfterFourFifthsOfItsLife(t *testing.T) {
	run := newRun(t, &server{life: time.Hour}, `exit`)
	if err := os.MkdirAll(string(run.Files), 0o700); err != nil {
		t.Fatal(err)
	}
	renewal, err := run.renewToken(t.Context())
	if wait := time.Until(renewal); err != nil || wait < 47*time.Minute || wait > 48*time.Minute {
		t.Errorf("in %s, %v", wait, err)
	}
}

func TestThePauseGrowsUpToALimit(t *testing.T) {
	pause := restartPause
	var got []time.Duration
	for range 7 {
		got = append(got, pause.Step()/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 30, 30}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// server plays the API server for one pod.
type server struct {
	tokens  atomic.Int64
	issued  func(tokens int64) // may be nil
	deleted chan struct{}
	life    time.Duration
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/token"):
		tokens := s.tokens.Add(1)
		if s.issued != nil {
			s.issued(tokens)
		}
		// To the microsecond, where the API server rounds to a second: these tokens are short-lived.
		_, _ = fmt.Fprintf(w, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"token-%d","expirationTimestamp":%q}}`,
			tokens, time.Now().Add(s.life).UTC().Format(time.RFC3339Nano))
	case r.URL.Query().Has("watch"):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.deleted:
			_, _ = fmt.Fprint(w, `{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"uid":"u"}}}`)
		case <-r.Context().Done():
		}
	default:
		_, _ = fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"5"},"spec":{"nodeName":"w1","serviceAccountName":"sa"}}`)
	}
}

func clientOf(t *testing.T, listening *httptest.Server) typedcorev1.CoreV1Interface {
	t.Helper()
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: listening.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// newRun returns a run of a shell script as a pod of that server.
func newRun(t *testing.T, s *server, script string) Run {
	t.Helper()
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	dir := t.TempDir()
	authority := filepath.Join(dir, "authority")
	if err := os.WriteFile(authority, []byte("CA"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := clientOf(t, listening)
	pod, err := AwaitBound(t.Context(), api, "ns", "p", nil)
	if err != nil {
		t.Fatal(err)
	}
	return Run{
		API: api, Pod: pod, Server: listening.URL, AuthorityFile: authority, Files: Files(filepath.Join(dir, "pod")),
		TokenLife: s.life, Command: []string{"/bin/sh", "-c", script}, Marker: "LOCALCLUSTER_TEST_POD=" + t.Name(), Stderr: os.Stderr,
	}
}

func TestCommandFindsItsIdentity(t *testing.T) {
	run := newRun(t, &server{life: time.Hour}, `echo "$NODE_NAME $POD_NAMESPACE/$POD_NAME $POD_SERVICE_ACCOUNT $(cat $SERVICE_ACCOUNT_DIR/token)"`)
	var out strings.Builder
	run.Stdout = &out
	if err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "w1 ns/p sa token-1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	info, err := os.Stat(run.Files.token())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token: %v, %v", info.Mode(), err)
	}
}

func TestExitCodeIsTheCommands(t *testing.T) {
	var ended *exec.ExitError
	err := newRun(t, &server{life: time.Hour}, `exit 7`).Do(t.Context())
	if !errors.As(err, &ended) || ended.ExitCode() != 7 {
		t.Errorf("got %v", err)
	}
}

// lines calls it for each line that a script prints.
type lines func(line string)

func (f lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		f(line)
	}
	return len(text), nil
}

func TestTokenIsRenewed(t *testing.T) {
	// When the third token is asked for, the second has been written.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s := &server{life: 200 * time.Millisecond, issued: func(tokens int64) {
		if tokens == 3 {
			cancel()
		}
	}}
	run := newRun(t, s, `sleep 1000`)
	if err := run.Do(ctx); err != nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	if text, err := os.ReadFile(run.Files.token()); err != nil || string(text) == "token-1" {
		t.Errorf("the token is %q, %v", text, err)
	}
}

func TestDeletionEndsTheCommandAndWhatItStarted(t *testing.T) {
	s := &server{life: time.Hour, deleted: make(chan struct{})}
	run := newRun(t, s, `sleep 1000 >&2 & echo begun; sleep 1000 >&2`)
	run.Restart = true
	run.Stdout = lines(func(string) { close(s.deleted) })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := run.Do(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	if _, err := os.Stat(run.Files.pid()); err == nil {
		t.Error("the process id of an ended command is still there")
	}
}

func TestRestart(t *testing.T) {
	run := newRun(t, &server{life: time.Hour}, `echo run`)
	run.Restart = true
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var began []time.Time
	run.Stdout = lines(func(string) {
		if began = append(began, time.Now()); len(began) == 2 {
			cancel()
		}
	})
	if err := run.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if len(began) != 2 || began[1].Sub(began[0]) < restartPause.Duration {
		t.Errorf("it began at %s", began)
	}
}

func TestAwaitBoundSaysWhatItWaitedFor(t *testing.T) {
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"uid":"u"},"spec":{}}`)
	}))
	defer listening.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := AwaitBound(ctx, clientOf(t, listening), "ns", "p", nil)
	if !errors.Is(err, errNotBound) {
		t.Errorf("got %v", err)
	}
}
