// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"encoding/json"
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

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
)

func TestRenewalIsAtFourFifthsOfTheLife(t *testing.T) {
	issued := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	got := token{issued: issued, expires: issued.Add(time.Hour)}.renewal()
	if want := issued.Add(48 * time.Minute); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBackoff(t *testing.T) {
	var pause backoff
	var got []time.Duration
	for _, ran := range []time.Duration{0, 0, 0, 0, 0, 0, 0, 2 * time.Minute, 0} {
		got = append(got, pause.next(ran)/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// server plays the API server for one pod.
type server struct {
	tokens  atomic.Int64
	deleted chan struct{}
	life    time.Duration
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/token"):
		answer := tokenRequest{Status: tokenRequestStatus{
			Token: fmt.Sprintf("token-%d", s.tokens.Add(1)), ExpirationTimestamp: time.Now().Add(s.life),
		}}
		_ = json.NewEncoder(w).Encode(answer)
	case r.URL.Query().Has("watch"):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.deleted:
			_, _ = fmt.Fprint(w, `{"type":"DELETED","object":{"metadata":{"uid":"u"}}}`)
		case <-r.Context().Done():
		}
	default:
		_, _ = fmt.Fprint(w, `{"metadata":{"uid":"u","resourceVersion":"5"},"spec":{"nodeName":"w1","serviceAccountName":"sa"}}`)
	}
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
	api := kubeapi.New(listening.URL, listening.Client())
	pod, err := AwaitBound(t.Context(), api, "ns", "p")
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

func TestTokenIsRenewed(t *testing.T) {
	// The script ends when it sees the second token.
	s := &server{life: 200 * time.Millisecond}
	run := newRun(t, s, `until grep -q token-2 $SERVICE_ACCOUNT_DIR/token; do sleep 0.02; done`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := run.Do(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}

func TestDeletionEndsTheCommandAndWhatItStarted(t *testing.T) {
	s := &server{life: time.Hour, deleted: make(chan struct{})}
	run := newRun(t, s, `sleep 1000 & sleep 1000`)
	run.Restart = true
	time.AfterFunc(300*time.Millisecond, func() { close(s.deleted) })
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
	run := newRun(t, &server{life: time.Hour}, `echo x >> $SERVICE_ACCOUNT_DIR/runs`)
	run.Restart = true
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond) // the pause is 1s, then 2s
	defer cancel()
	if err := run.Do(ctx); err != nil {
		t.Fatal(err)
	}
	runs, err := os.ReadFile(filepath.Join(string(run.Files), "runs"))
	if err != nil || string(runs) != "x\nx\n" {
		t.Errorf("runs %q, %v", runs, err)
	}
}

func TestAwaitBoundSaysWhatItWaitedFor(t *testing.T) {
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"metadata":{"uid":"u"},"spec":{}}`)
	}))
	defer listening.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := AwaitBound(ctx, kubeapi.New(listening.URL, listening.Client()), "ns", "p")
	if !errors.Is(err, errNotBound) {
		t.Errorf("got %v", err)
	}
}
