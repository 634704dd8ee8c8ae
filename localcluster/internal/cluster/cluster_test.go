// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func open(t *testing.T, dir string) *Cluster {
	t.Helper()
	opened, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func TestDownLeavesOtherDirectoriesAlone(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "audit.log") // even under a name that clusters use
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Down(t.Context(), ""); !errors.Is(err, ErrNotOurs) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestDownOfNothingIsDone(t *testing.T) {
	for name, dir := range map[string]string{"an empty directory": t.TempDir(), "no directory": filepath.Join(t.TempDir(), "x")} {
		t.Run(name, func(t *testing.T) {
			existed, err := open(t, dir).Down(t.Context(), "")
			if existed || err != nil {
				t.Errorf("existed: %t, %v", existed, err)
			}
		})
	}
}

func TestDownRemovesWhatItMadeAndNothingElse(t *testing.T) {
	cases := map[string]struct {
		madeDir, foreign bool
		wantDir          bool
	}{
		"all of it, with its directory":           {madeDir: true},
		"a directory that was there stays":        {wantDir: true},
		"a directory with other files in it, too": {madeDir: true, foreign: true, wantDir: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := create(t.Context(), state.Dir(path), DefaultConfig(), "", tc.madeDir); err != nil {
				t.Fatal(err)
			}
			foreign := filepath.Join(path, "notes.txt")
			if tc.foreign {
				if err := os.WriteFile(foreign, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			existed, err := open(t, path).Down(t.Context(), "")
			if !existed || err != nil {
				t.Fatalf("existed: %t, %v", existed, err)
			}
			left, err := os.ReadDir(path)
			if (err == nil) != tc.wantDir || (len(left) == 1) != tc.foreign {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestDownSparesALaterCluster(t *testing.T) {
	dir := state.Dir(t.TempDir())
	if _, err := create(t.Context(), dir, DefaultConfig(), "later", false); err != nil {
		t.Fatal(err)
	}
	if existed, err := open(t, string(dir)).Down(t.Context(), "earlier"); existed || err != nil {
		t.Errorf("existed: %t, %v", existed, err)
	}
	if existed, err := open(t, string(dir)).Down(t.Context(), "later"); !existed || err != nil {
		t.Errorf("existed: %t, %v", existed, err)
	}
}

// A file that a cluster makes and Owned does not name would be left behind.
func TestEverythingMadeIsOwned(t *testing.T) {
	dir := state.Dir(t.TempDir())
	st, err := create(t.Context(), dir, DefaultConfig(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, string(dir)).writeSettings(st); err != nil {
		t.Fatal(err)
	}
	if err := removeFiles(dir, false); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(string(dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCreateWantsAnEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := create(t.Context(), state.Dir(dir), DefaultConfig(), "", false); !errors.Is(err, ErrNotOurs) {
		t.Errorf("got %v", err)
	}
}

func TestChangePortsTellsEverybody(t *testing.T) {
	dir := state.Dir(t.TempDir())
	st, err := create(t.Context(), dir, DefaultConfig(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Log(component.APIServer), []byte("bind: address already in use\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	attempt := &launch{cluster: open(t, string(dir)), state: st}
	if !attempt.portWasTaken(component.APIServer) {
		t.Error("the complaint in the log was not seen")
	}
	if err := attempt.changePorts(t.Context(), component.APIServer); err != nil {
		t.Fatal(err)
	}
	if attempt.portWasTaken(component.APIServer) {
		t.Error("the old complaint is still seen")
	}
	kubeconfig, err := os.ReadFile(dir.Kubeconfig())
	if err != nil || !strings.Contains(string(kubeconfig), open(t, string(dir)).settings(st).Server()) {
		t.Errorf("the kubeconfig does not name the new port: %s, %v", kubeconfig, err)
	}
}

func TestStatusOfNothing(t *testing.T) {
	facts, err := open(t, t.TempDir()).Status(t.Context())
	if err != nil || facts.State != Absent {
		t.Errorf("facts %+v, %v", facts, err)
	}
}

func TestStatusSaysWhatIsMissing(t *testing.T) {
	dir := state.Dir(t.TempDir())
	st, err := create(t.Context(), dir, DefaultConfig(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	st.SetPod(state.Pod{Namespace: "a", Name: "b", Command: []string{"c"}})
	if err := st.Save(dir); err != nil {
		t.Fatal(err)
	}
	facts, err := open(t, string(dir)).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if facts.State != Degraded || !strings.HasPrefix(facts.Problem(), "etcd is stopped") {
		t.Errorf("state %s, problem %q", facts.State, facts.Problem())
	}
	if len(facts.Pods) != 1 || facts.Pods[0].State != Stopped {
		t.Errorf("pods %+v", facts.Pods)
	}
}

func TestUnknownComponentsAreNamed(t *testing.T) {
	err := open(t, t.TempDir()).Stop(t.Context(), "kubelet", false)
	if !errors.Is(err, ErrUnknownComponent) || !strings.Contains(err.Error(), component.Kwok) {
		t.Errorf("got %v", err)
	}
}

func TestTailIsWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("0123456789\n", 5000)+"last\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(tail(path), "\n")
	if len(lines) != 15 || lines[0] != "0123456789" || lines[14] != "last" {
		t.Errorf("got %q", lines)
	}
}

func TestSimulatedNodesAreSpreadAndDistinct(t *testing.T) {
	perZone, addresses := map[string]int{}, map[string]bool{}
	names := simulatedNodes(state.Config{Nodes: 1000})
	for number, name := range names {
		made := simulated(name, number, nil)
		perZone[made.Labels[corev1.LabelTopologyZone]]++
		addresses[made.Status.Addresses[1].Address] = true
	}
	if names[0] != "worker-1" || names[999] != "worker-1000" {
		t.Errorf("the first is %s, the last is %s", names[0], names[999])
	}
	if len(perZone) != len(zones) || perZone["zone-a"] != 334 || perZone["zone-c"] != 333 {
		t.Errorf("nodes per zone: %v", perZone)
	}
	if len(addresses) != len(names) {
		t.Errorf("%d addresses for %d nodes", len(addresses), len(names))
	}
}

func TestReady(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taint string) corev1.Node {
		return corev1.Node{
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: taint}}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: ready, Message: "why"},
			}},
		}
	}
	cases := map[string]struct {
		node corev1.Node
		want string
	}{
		"the kubelet reports it":             {node(corev1.ConditionTrue, ""), ""},
		"nothing is reported":                {corev1.Node{}, "no kubelet"},
		"the kubelet reports the contrary":   {node(corev1.ConditionFalse, ""), "why"},
		"no pod is scheduled there yet":      {node(corev1.ConditionTrue, corev1.TaintNodeNotReady), corev1.TaintNodeNotReady},
		"cordoned, and nevertheless healthy": {node(corev1.ConditionTrue, corev1.TaintNodeUnschedulable), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := ready(&tc.node)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestPickedPortCanBeUsed(t *testing.T) {
	port, err := pickPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if port < lowestPort || port >= highestPort {
		t.Errorf("port %d is out of range", port)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}
