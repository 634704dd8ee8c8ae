// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/health"
)

// running is a mover with the Node that it writes.
type running struct {
	t     *testing.T
	m     *Mover
	nodes corev1client.NodeInterface
	node  *nodestate.Writer
	seen  watch.Interface
}

func startMover(t *testing.T, dir string, said map[string]string) *running {
	t.Helper()
	r := newMover(t, dir, said)
	r.run(r.m.Start)
	return r
}

func newMover(t *testing.T, dir string, said map[string]string) *running {
	t.Helper()
	nodes := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Annotations: said}}).CoreV1().Nodes()
	seen, err := nodes.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(seen.Stop)
	r := &running{t: t, nodes: nodes, node: nodestate.NewWriter(nodes, nodeName, clock.RealClock{}), seen: seen}
	r.m = New(Options{NodeName: nodeName, Dir: dir}, func() (*corev1.Node, error) { return nodes.Get(t.Context(), nodeName, metav1.GetOptions{}) }, r.node, health.New(clock.RealClock{}), clock.RealClock{})
	return r
}

// run runs it until the test ends.
func (r *running) run(start func(context.Context) error) {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

// awaitReport waits until the Node says that.
func (r *running) awaitReport(want func(*staticpod.Report) bool) {
	r.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		select {
		case event := <-r.seen.ResultChan():
			if node, is := event.Object.(*corev1.Node); is && want(staticpod.ReportedOn(node)) {
				return
			}
		case <-limit.C:
			node, err := r.nodes.Get(context.WithoutCancel(r.t.Context()), nodeName, metav1.GetOptions{})
			r.t.Fatalf("the Node says %v (%v)", node.Annotations, err)
		}
	}
}

func says(away ...string) func(*staticpod.Report) bool {
	return func(r *staticpod.Report) bool { return r != nil && slices.Equal(r.Away, away) && len(r.Trouble) == 0 }
}

// TestAMoverGoesOnWhatItSees: it is told of the Node, and sees by itself what somebody does with
// the files.
func TestAMoverGoesOnWhatItSees(t *testing.T) {
	s := newScene(t, t.TempDir(), "a", "b")
	r := startMover(t, s.dir, nil)
	r.awaitReport(says())
	if err := r.node.Cordon(t.Context(), "drain", "u"); err != nil {
		t.Fatal(err)
	}
	if err := r.node.WishStaticPodsAway(t.Context(), staticpod.Wish{Event: "drain", UID: "u", Pods: []string{"kube-system/a-w1"}}); err != nil {
		t.Fatal(err)
	}
	r.m.Look()
	r.awaitReport(says("kube-system/a-w1"))
	s.wantAway("a.yaml")

	other := filepath.Join(s.dir, "a.yaml")
	if err := os.WriteFile(other, []byte(manifest("a")+"# another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.awaitReport(func(r *staticpod.Report) bool {
		return len(r.Trouble) == 1 && strings.Contains(r.Trouble[0].Message, "a.yaml")
	})
	if _, err := r.node.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.m.Look()
	r.awaitReport(func(r *staticpod.Report) bool {
		return len(r.Trouble) == 1 && strings.Contains(r.Trouble[0].Message, "stays away")
	})
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	r.awaitReport(says())
	s.wantAway()
}

// TestAMoverThatCannotWatchFilesLooksAgain: the machine may have no inotify left. That ends nothing.
func TestAMoverThatCannotWatchFilesLooksAgain(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	none := newMover(t, filepath.Join(t.TempDir(), "none"), nil)
	if err := none.m.Start(ctx); err != nil {
		t.Error(err)
	}

	s := newScene(t, t.TempDir(), "a")
	r := newMover(t, s.dir, nil)
	r.run(func(ctx context.Context) error { r.m.loop(ctx, unwatched, true); return nil })
	r.awaitReport(says())
	if err := r.node.Cordon(t.Context(), "drain", "u"); err != nil {
		t.Fatal(err)
	}
	if err := r.node.WishStaticPodsAway(t.Context(), staticpod.Wish{Event: "drain", UID: "u", Pods: []string{"kube-system/a-w1"}}); err != nil {
		t.Fatal(err)
	}
	r.awaitReport(says("kube-system/a-w1"))
}

// TestWithoutAFolderTheNodeSaysNothing: who does not take static pods away any more does not
// have drains wait for that.
func TestWithoutAFolderTheNodeSaysNothing(t *testing.T) {
	r := startMover(t, "", map[string]string{staticpod.HostAnnotation: `{"away":["kube-system/a-w1"]}`})
	r.awaitReport(func(r *staticpod.Report) bool { return r == nil })
}

func TestWhatIsWrongWithTheSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"none":                          {Options{}, ""},
		"a folder":                      {Options{Dir: t.TempDir()}, ""},
		"a folder that there is not":    {Options{Dir: "/nowhere"}, "read the kubelet's folder (--static-pods): stat /nowhere: no such file or directory"},
		"a file":                        {Options{Dir: file}, "--static-pods: " + file + " is not a folder"},
		"the control plane, of nowhere": {Options{ControlPlane: true}, "--control-plane-static-pods needs --static-pods"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.options.Check(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
