// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/localcluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/build"
)

// These tests run the real thing. Where the control plane was not built before,
// the first of them builds it, which takes minutes.

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{
  "pod-create.stage.kwok.x-k8s.io/delay":"10ms","pod-create.stage.kwok.x-k8s.io/jitter-delay":"10ms",
  "pod-ready.stage.kwok.x-k8s.io/delay":"10ms","pod-ready.stage.kwok.x-k8s.io/jitter-delay":"10ms",
  "pod-delete.stage.kwok.x-k8s.io/delay":"10ms"}},
  "spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"i"}]}}`

const selfReview = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`

func TestWholeLife(t *testing.T) {
	l := newLauncher(t)
	dir := filepath.Join(t.TempDir(), "c")
	t.Cleanup(func() { l.command("down", "--dir", dir).Run() })

	var ready facts
	l.json(&ready, "up", "--dir", dir, "--nodes", "2", "-o", "json")
	t.Run("up tells the facts", func(t *testing.T) { checkFacts(t, ready) })
	t.Run("up again changes nothing", func(t *testing.T) {
		var again facts
		l.json(&again, "up", "--dir", dir, "-o", "json")
		if again.Components[1].PID != ready.Components[1].PID || len(again.Nodes) != 2 {
			t.Errorf("first %+v\nthen %+v", ready, again)
		}
	})
	l.kubectl(dir, pod, "create", "--validate=false", "-f", "-")
	l.kubectl(dir, "", "wait", "--for=condition=Ready", "--timeout=30s", "pod/p")
	t.Run("a pod's token names its node", func(t *testing.T) { checkPodIdentity(t, l, dir, ready.Kubectl) })
	t.Run("the API server can be taken away", func(t *testing.T) { checkOutage(t, l, dir) })
	t.Run("requests are in the audit log", func(t *testing.T) {
		audit, err := os.ReadFile(ready.AuditLog)
		if err != nil || !bytes.Contains(audit, []byte(`"objectRef":{"resource":"pods","namespace":"default","name":"p"`)) {
			t.Errorf("%d bytes without the pod, %v", len(audit), err)
		}
	})
	t.Run("a pod's process ends with the pod", func(t *testing.T) { checkPodProcess(t, l, dir) })

	l.run("", "down", "--dir", dir)
	checkGone(t, dir)
	l.run("", "down", "--dir", dir)
}

func checkFacts(t *testing.T, got facts) {
	t.Helper()
	version, err := build.KubernetesVersion(localcluster.ControlPlane)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != "running" || got.Version != version || strings.Join(got.Nodes, " ") != "worker-1 worker-2" {
		t.Errorf("facts %+v", got)
	}
	if len(got.Components) != 5 {
		t.Errorf("components %+v", got.Components)
	}
	for _, path := range []string{got.Kubeconfig, got.CAFile, got.AuditLog, got.Kubectl} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func checkPodIdentity(t *testing.T, l *launcher, dir, kubectl string) {
	t.Helper()
	node := strings.TrimSpace(l.kubectl(dir, "", "get", "pod", "p", "-o", "jsonpath={.spec.nodeName}"))
	answer := l.run(selfReview, "pod", "default/p", "-q", "--dir", dir, "--",
		kubectl, "create", "--validate=false", "-f", "-", "-o", "json")
	var review struct {
		Status struct {
			UserInfo struct {
				Username string              `json:"username"`
				Extra    map[string][]string `json:"extra"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	if err := json.Unmarshal([]byte(answer), &review); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	user := review.Status.UserInfo
	named := user.Extra["authentication.kubernetes.io/node-name"]
	if user.Username != "system:serviceaccount:default:default" || len(named) != 1 || named[0] != node {
		t.Errorf("the token is for %+v; the pod is on %s", user, node)
	}
}

func checkOutage(t *testing.T, l *launcher, dir string) {
	t.Helper()
	l.run("", "stop", "kube-apiserver", "--dir", dir, "--kill")
	if output, err := l.command("status", "--dir", dir).CombinedOutput(); err == nil || !bytes.Contains(output, []byte("kube-apiserver is stopped")) {
		t.Errorf("status while the API server is away: %v, %s", err, output)
	}
	l.run("", "start", "kube-apiserver", "--dir", dir)
	l.run("", "status", "--dir", dir)
	l.kubectl(dir, "", "get", "pod", "p")
}

func checkPodProcess(t *testing.T, l *launcher, dir string) {
	t.Helper()
	var started struct {
		PID int    `json:"pid"`
		Dir string `json:"dir"`
	}
	l.json(&started, "pod", "default/p", "--dir", dir, "--detach", "-o", "json", "--", "sleep", "1000")
	if _, err := os.Stat(filepath.Join(started.Dir, "token")); err != nil {
		t.Error(err)
	}
	l.kubectl(dir, "", "delete", "pod", "p")
	await(t, "the pod's process has ended", func() bool { return len(processes(started.Dir)) == 0 && !exists(started.PID) })
}

func TestSideBySide(t *testing.T) {
	l := newLauncher(t)
	base := t.TempDir()
	first, second := l.hold(t, filepath.Join(base, "a")), l.hold(t, filepath.Join(base, "b"))
	one, two := first.ready(t), second.ready(t)
	if one.Server == two.Server {
		t.Errorf("both are at %s", one.Server)
	}
	first.letGo(t)
	checkGone(t, one.Dir)
	l.run("", "status", "--dir", two.Dir)
	second.letGo(t)
	checkGone(t, two.Dir)
}

func TestKilledLauncherLeavesNothing(t *testing.T) {
	held := newLauncher(t).hold(t, filepath.Join(t.TempDir(), "c"))
	ready := held.ready(t)
	if err := held.command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the cluster is gone", func() bool {
		_, err := os.Stat(ready.Dir)
		return os.IsNotExist(err)
	})
	checkGone(t, ready.Dir)
}

func TestFailedStartNamesTheComponent(t *testing.T) {
	l := newLauncher(t)
	dir := filepath.Join(t.TempDir(), "c")
	t.Cleanup(func() { l.command("down", "--dir", dir).Run() })
	output, err := l.command("up", "--dir", dir, "--scheduler-arg", "no-such-flag=1").CombinedOutput()
	if err == nil || !bytes.Contains(output, []byte("localcluster: kube-scheduler: ended by itself")) || !bytes.Contains(output, []byte("unknown flag")) {
		t.Errorf("%v: %s", err, output)
	}
	if left := processes(dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// processes lists the command lines that have text in them, but for our own.
func processes(text string) []string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(text)) && path != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

func checkGone(t *testing.T, dir string) {
	t.Helper()
	await(t, "no process is left", func() bool { return len(processes(dir)) == 0 })
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func await(t *testing.T, what string, reached func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !reached() {
		select {
		case <-deadline.C:
			t.Fatalf("in vain: until %s", what)
		case <-ticker.C:
		}
	}
}

// readLine returns the first line, or fails when there is none.
func readLine(t *testing.T, lines *bufio.Reader) []byte {
	t.Helper()
	line, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatalf("no facts: %v", err)
	}
	return line
}
