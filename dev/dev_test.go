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
		"$ kubectl apply -f config/samples/drain-worker-1.yaml",
		"Claimed by NodeAgent worker-1",
		"reason drain-complete",
		"LifecycleEvent drain-worker-1 is gone",
		"SchedulingDisabled",
		`"reason":"drain-complete"`,
		"$ kubectl apply -f config/samples/uncordon-worker-1.yaml",
		"Node worker-1 is uncordoned",
		`"reason":"maintenance-complete"`,
		"What happened",
		"the cluster is gone",
	)
	wantGone(t, filepath.Join(dir, "demo"))
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	dir, out := t.TempDir(), &output{text: "Node worker-1 is cordoned", seen: interrupt}
	const interrupted = 130
	dev(t, ctx, out, interrupted, "demo", "--dir", dir)
	wantInOrder(t, out, "Interrupted", "the cluster is gone")
	wantGone(t, filepath.Join(dir, "demo"))
}

// TestDrain drains a node of a cluster that stays: held up by a budget, left alone,
// followed again, canceled, and drained at last.
func TestDrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dev(t, t.Context(), &output{}, 0, "up", "--dir", dir, "--nodes=2")
	t.Cleanup(func() { dev(t, context.Background(), &output{}, 0, "down", "--dir", dir) })
	dev(t, t.Context(), &output{}, 0, "up", "--dir", dir, "--nodes=2")
	here, err := newPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := kubectl{path: here.kubectl(), kubeconfig: here.kubeconfig(), dir: here.root}
	run := func(input string, args ...string) {
		t.Helper()
		if _, err := k.run(t.Context(), []byte(input), args...); err != nil {
			t.Fatal(err)
		}
	}
	run(guardedPod, "apply", "-f", "-")
	run("", "wait", "--for=condition=Ready", "pod/guarded", "--timeout=3m")

	const interrupted = 130
	heldUp := "Pod default/guarded is held up"
	ctx, interrupt := context.WithCancel(t.Context())
	out := &output{text: heldUp, seen: interrupt}
	dev(t, ctx, out, interrupted, "drain", "worker-2", "--dir", dir)
	wantInOrder(t, out, heldUp, "LifecycleEvent drain-worker-2 goes on")

	out = &output{text: heldUp, seen: func() { run("", "delete", "lifecycleevent", "drain-worker-2", "--wait=false") }}
	dev(t, t.Context(), out, 1, "drain", "worker-2", "--dir", dir)
	wantInOrder(t, out, "which cancels it", "ended as Failed")

	run("", "delete", "pdb", "guarded")
	out = &output{}
	dev(t, t.Context(), out, 0, "drain", "worker-2", "--dir", dir)
	wantInOrder(t, out, "Pod default/guarded is gone", "Succeeded")
	dev(t, t.Context(), &output{}, 0, "maintenance-complete", "worker-2", "--dir", dir)

	// The controllers are on one node now, if they were not before: who goes on elsewhere
	// works there, or no drain would begin any more.
	for _, node := range []string{"worker-1", "worker-2"} {
		dev(t, t.Context(), &output{}, 0, "drain", node, "--dir", dir)
		dev(t, t.Context(), &output{}, 0, "maintenance-complete", node, "--dir", dir)
	}

	out = &output{}
	dev(t, t.Context(), out, 1, "drain", "worker-9", "--dir", dir)
	wantInOrder(t, out, `there is no node "worker-9"`)
}

func TestDrainWithoutCluster(t *testing.T) {
	t.Parallel()
	out := &output{}
	dev(t, t.Context(), out, 1, "drain", "worker-1", "--dir", t.TempDir())
	wantInOrder(t, out, "'make up' starts one")
}

// guardedPod is a pod on worker-2 whose budget allows no disruption.
const guardedPod = `
apiVersion: v1
kind: Pod
metadata:
  name: guarded
  namespace: default
  labels: {app: guarded}
  annotations: {pod-delete.stage.kwok.x-k8s.io/delay: 10ms}
spec:
  nodeName: worker-2
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: example.com/app}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guarded, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
`
