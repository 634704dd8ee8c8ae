// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// sockets lists what is in the directories for sockets, with its mode.
func sockets(t *testing.T, node *harness.Node) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{node.RegistrationDir(), node.DataDir()} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // the driver in the agent's process has no directory
				return nil
			}
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(node.Dir, path)
			found[name] = info.Mode().String()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// wantSockets waits until the directories have these sockets: an agent makes its directory beside other work.
func wantSockets(t *testing.T, node *harness.Node, want map[string]string) {
	t.Helper()
	diff := ""
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, harness.Patience, true, func(context.Context) (bool, error) {
		diff = cmp.Diff(want, sockets(t, node))
		return diff == "", nil
	})
	if err != nil {
		t.Errorf("sockets (-want +got):\n%s", diff)
	}
}

const (
	privateDir    = "drwx------"
	privateSocket = "Srw-------"
)

func TestSocketsAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for name, tc := range map[string]struct {
		start    func(*harness.Node) *harness.Process
		separate bool // the agent is another process
		served   string
		want     map[string]string
	}{
		"of the driver in the agent": {
			func(n *harness.Node) *harness.Process { return n.Agent("") }, false, "Serving",
			map[string]string{"r": privateDir},
		},
		"of a driver by itself": {
			func(n *harness.Node) *harness.Process { return n.Driver("") }, true, "Registered with the agent",
			map[string]string{
				"r": privateDir, "r/drain.slm.k8s.io": privateDir, "r/drain.slm.k8s.io/reg.sock": privateSocket,
				"d": privateDir, "d/drain.slm.k8s.io": privateDir, "d/drain.slm.k8s.io/slm.sock": privateSocket,
			},
		},
		"of an instance of a driver with a slash in its name": {
			func(n *harness.Node) *harness.Process {
				return n.Driver("", "--driver-name=example.com/drain", "--instance=1")
			}, true, "Registered with the agent",
			map[string]string{
				"r": privateDir, "r/example.com~drain": privateDir, "r/example.com~drain/reg-1.sock": privateSocket,
				"d": privateDir, "d/example.com~drain": privateDir, "d/example.com~drain/slm-1.sock": privateSocket,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := env.Node(t, "sockets")
			if tc.separate {
				node.Agent("", "--builtin-drivers=")
			}
			killed := tc.start(node)
			killed.AwaitLog(tc.served)
			wantSockets(t, node, tc.want)
			killed.Kill() // it leaves its sockets behind, which hinder nobody
			wantSockets(t, node, tc.want)

			process := tc.start(node)
			process.AwaitLog(tc.served)
			wantSockets(t, node, tc.want)
			process.Stop()
			for path := range tc.want {
				if strings.HasSuffix(path, ".sock") {
					delete(tc.want, path)
				}
			}
			wantSockets(t, node, tc.want)
		})
	}
}

// While a driver is being updated, two processes of it run side by side. The newer one
// is called, and when it goes, the older one takes over what it was at.
func TestTwoInstancesOfADriverRunSideBySide(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "instances")
	node.Expect(harness.CordonLeft, notReturned)
	agent := node.Agent("", "--builtin-drivers=")
	older := node.Driver("", "--instance=older")
	older.AwaitLog("Registered with the agent")
	newer := node.Driver("", "--instance=newer")
	newer.AwaitLog("Registered with the agent")

	half := halfDrain(t, env, node)
	newer.AwaitLog(`method="Start"`)
	if strings.Contains(older.Log(), `method=`) {
		t.Error("the older instance was called as well")
	}

	newer.Stop()
	agent.AwaitLog("Driver deregistered")
	older.AwaitLog(`method="End"`)
	half.pod.LetGo(t)
	ended := env.Outcome(t, half.event.Name)
	if ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the drain ended as %s: %+v", ended.Status.ClaimStatus, harness.Finished(ended))
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": half.pod.Labels["app"]})
	if strings.Contains(older.Log(), `method="Start"`) {
		t.Error("the transition was started twice")
	}
}

// What a process that was killed has left behind is removed by the next one, also if
// that is another instance: the names of instances are never used again.
func TestSocketsThatWereLeftBehindAreRemoved(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "left-behind")
	node.Agent("", "--builtin-drivers=")
	killed := node.Driver("", "--instance=a")
	killed.AwaitLog("Registered with the agent")
	killed.Kill()

	node.Driver("", "--instance=b").AwaitLog("Registered with the agent")
	wantSockets(t, node, map[string]string{
		"r": privateDir, "r/drain.slm.k8s.io": privateDir, "r/drain.slm.k8s.io/reg-b.sock": privateSocket,
		"d": privateDir, "d/drain.slm.k8s.io": privateDir, "d/drain.slm.k8s.io/slm-b.sock": privateSocket,
	})
}

// The driver's name goes into names of files, where it can have no slash, and of API objects, where
// it can have neither a slash nor underscores. KEP-5683 has an example with both.
func TestADriverWithASlashAndUnderscoresInItsNameDrains(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "slash")
	node.Expect(harness.CordonLeft, notReturned)
	h := node.Record()
	node.Agent("", "--builtin-drivers=")
	name := "example.com/server_side_" + node.Name
	transition := publishDrain(t, env, name)
	node.Driver("", "--driver-name="+name)

	node.Pod("slash", quick())
	event := node.Event(node.EventName("drain"), transition)
	drained(t, env, h, event.Name)
	node.AwaitPodsGone(client.MatchingLabels{"app": "slash"})
}

// A driver that restarts with another time limit writes it into the transitions that it has
// published, until an administrator has written one.
func TestADriverUpdatesWhatItHasPublished(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "sla")
	name := "example.com." + node.Name
	kubeconfig := "--kubeconfig=" + env.Kubeconfig // may publish for all nodes
	has := func(sla time.Duration) func(*lifecyclev1alpha1.LifecycleTransition) bool {
		return func(t *lifecyclev1alpha1.LifecycleTransition) bool { return t.Spec.SLA.Duration == sla }
	}
	for _, sla := range []time.Duration{time.Minute, time.Hour} {
		driver := node.Driver("", "--driver-name="+name, kubeconfig, "--sla="+sla.String())
		for _, transition := range []string{name, name + "-uncordon"} {
			harness.Await(t, env, "the transition has "+sla.String(), &lifecyclev1alpha1.LifecycleTransitionList{}, has(sla), harness.Named(transition))
		}
		driver.Stop()
	}
	env.Kubectl(t, "patch", "lifecycletransition", name, "--type=merge", `--patch={"spec":{"sla":"2h"}}`)
	driver := node.Driver("", "--driver-name="+name, kubeconfig, "--sla=3h")
	harness.Await(t, env, "the other transition has 3h", &lifecyclev1alpha1.LifecycleTransitionList{}, has(3*time.Hour), harness.Named(name+"-uncordon"))
	driver.Stop()
	var kept lifecyclev1alpha1.LifecycleTransition
	if err := env.Client.Get(t.Context(), client.ObjectKey{Name: name}, &kept); err != nil {
		t.Fatal(err)
	}
	if got := kept.Spec.SLA.Duration; got != 2*time.Hour {
		t.Errorf("the driver has changed the administrator's time limit to %s", got)
	}
}
