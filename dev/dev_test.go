// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMain is the program, too, for what 'up' starts to go on.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "kubelets" {
		main()
	}
	os.Exit(m.Run())
}

// output is what a command has printed. It calls seen once, when text is in it.
type output struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen func()
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.Write(p)
	if o.seen != nil && strings.Contains(o.all.String(), o.text) {
		o.seen()
		o.seen = nil
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// dev runs one command line, and wants it to end with that exit code.
func dev(t *testing.T, ctx context.Context, out *output, want int, args ...string) {
	t.Helper()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(out)
	if got := run(ctx, root); got != want {
		t.Fatalf("dev %s: exit code %d, want %d; it printed:\n%s", strings.Join(args, " "), got, want, out)
	}
}

// wantInOrder wants all of the texts in the output, in that order.
func wantInOrder(t *testing.T, out *output, texts ...string) {
	t.Helper()
	rest := out.String()
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is not in the output, or not in this order:\n%s", text, out)
		}
		rest = after
	}
}

func wantGone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), &output{}
	dev(t, t.Context(), out, 0, "demo", "--dir", dir)
	wantInOrder(t, out,
		"Slipway works",
		"$ kubectl slipway drain worker-1",
		"Claimed by NodeAgent worker-1",
		"reason drain-complete",
		"LifecycleEvent drain-worker-1 is deleted",
		"SchedulingDisabled",
		"$ kubectl slipway uncordon worker-1",
		"Node worker-1 is uncordoned",
		"the cluster is removed",
	)
	wantGone(t, filepath.Join(dir, "demo"))
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	dir, out := t.TempDir(), &output{text: "Node worker-1 is cordoned", seen: interrupt}
	const interrupted = 130
	dev(t, ctx, out, interrupted, "demo", "--dir", dir)
	wantInOrder(t, out, "Interrupted", "the cluster is removed")
	wantGone(t, filepath.Join(dir, "demo"))
}

// TestUp drains the nodes of a cluster that stays, one after the other: the pods of Slipway move,
// and each new one gets a process, or no drain would begin any more.
func TestUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev(t, t.Context(), &output{}, 0, "up", "--dir", dir, "--nodes=2")
	t.Cleanup(func() {
		dev(t, context.Background(), &output{}, 0, "down", "--dir", dir)
		wantGone(t, dir)
	})
	dev(t, t.Context(), &output{}, 0, "up", "--dir", dir, "--nodes=2")
	here, err := newPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	slipway := func(out *output, args ...string) error {
		return here.program(t.Context(), out, nil, "kubectl-slipway", args...)
	}
	for _, node := range []string{"worker-2", "worker-1", "worker-2"} {
		out := &output{}
		if err := errors.Join(slipway(out, "drain", node), slipway(out, "uncordon", node)); err != nil {
			t.Fatalf("%v; it printed:\n%s", err, out)
		}
	}
	if err := slipway(&output{}, "drain", "worker-9"); err == nil || !strings.Contains(err.Error(), `there is no node "worker-9"`) {
		t.Errorf("drain of worker-9: %v", err)
	}
}
