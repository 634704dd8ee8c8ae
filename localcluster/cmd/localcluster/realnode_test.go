// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const serverImage = "local.test/server:1"

// realPod is bound to the node by name: no scheduler has to find it.
const realPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"nodeName":"real-1",
  "containers":[{"name":"c","image":"` + serverImage + `","imagePullPolicy":"Never",
    "readinessProbe":{"tcpSocket":{"port":8080},"periodSeconds":1},
    "volumeMounts":[{"name":"scratch","mountPath":"/scratch"}]}],
  "volumes":[{"name":"scratch","emptyDir":{}}]}}`

func TestARealNode(t *testing.T) {
	l := newLauncher(t)
	if output, err := l.command("node", "check").CombinedOutput(); err != nil {
		t.Skipf("missing: a real node cannot run on this machine: %s", bytes.TrimSpace(output))
	}
	before := machine(t)
	dir := filepath.Join(t.TempDir(), "c")
	t.Cleanup(func() { l.command("down", "--dir", dir).Run() })
	l.run("", "up", "--dir", dir, "--nodes", "1")

	node := l.addNode(dir)
	t.Run("a pod is a process", func(t *testing.T) { checkRealPod(t, l, dir) })
	t.Run("a static pod runs", func(t *testing.T) { checkStaticPod(t, l, dir, node) })
	t.Run("the kubelet may crash", func(t *testing.T) { checkCrash(t, l, dir, "kubelet@real-1") })
	t.Run("containerd may crash", func(t *testing.T) { checkCrash(t, l, dir, "containerd@real-1") })
	t.Run("a pod has its time to end", func(t *testing.T) { checkEnd(t, l, dir) })
	t.Run("what is asked for wrongly is refused", func(t *testing.T) { checkRefusals(t, l, dir) })

	// A pod is there when the node goes, and one when the whole cluster does: neither has
	// had time to end.
	l.startPod(dir, "left")
	l.run("", "node", "remove", "real-1", "--dir", dir)
	checkSameMachine(t, "node remove", before)
	if output, err := l.command("kubectl", "--dir", dir, "--", "get", "node", "real-1").CombinedOutput(); err == nil {
		t.Errorf("the Node is still there: %s", output)
	}
	l.run("", "status", "--dir", dir)

	l.addNode(dir)
	l.startPod(dir, "left-again")
	l.run("", "stop", "kubelet@real-1", "--kill", "--dir", dir)
	l.run("", "stop", "containerd@real-1", "--kill", "--dir", dir)
	l.run("", "down", "--dir", dir)
	checkGone(t, dir)
	checkSameMachine(t, "down", before)
}

type nodeFacts struct {
	Address, Socket, Manifests, Cgroup string
}

// addNode makes this machine a node that has the server's image.
func (l *launcher) addNode(dir string) nodeFacts {
	l.t.Helper()
	var node nodeFacts
	l.json(&node, "node", "add", "real-1", "--dir", dir, "-o", "json")
	server := filepath.Join(l.t.TempDir(), "server")
	compile := exec.Command("go", "build", "-o", server, "./testdata/server")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := compile.CombinedOutput(); err != nil {
		l.t.Fatalf("compile the server: %v: %s", err, output)
	}
	loaded := l.run("", "node", "load", "real-1", "--program", server, "--name", serverImage, "--dir", dir)
	if loaded != serverImage+"\n" {
		l.t.Errorf("loaded %q", loaded)
	}
	return node
}

func (l *launcher) startPod(dir, name string) {
	l.t.Helper()
	l.kubectl(dir, fmt.Sprintf(realPod, name), "create", "-f", "-")
	l.kubectl(dir, "", "wait", "--for=condition=Ready", "--timeout=60s", "pod/"+name)
}

func checkRealPod(t *testing.T, l *launcher, dir string) {
	l.startPod(dir, "p")
	if log := l.kubectl(dir, "", "logs", "p"); log != "serving\n" {
		t.Errorf("the pod has said %q", log)
	}
	if said := l.kubectl(dir, "", "exec", "p", "--", "/server", "hello", "there"); said != "hello there\n" {
		t.Errorf("a command in the pod has said %q", said)
	}
}

func checkStaticPod(t *testing.T, l *launcher, dir string, node nodeFacts) {
	manifest := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"static","namespace":"default"},"spec":{
	  "containers":[{"name":"c","image":"` + serverImage + `","imagePullPolicy":"Never"}]}}`
	if err := os.WriteFile(filepath.Join(node.Manifests, "static.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	l.kubectl(dir, "", "wait", "--for=create", "--timeout=60s", "pod/static-real-1")
	l.kubectl(dir, "", "wait", "--for=condition=Ready", "--timeout=60s", "pod/static-real-1")
}

// checkCrash kills a program of the node and starts it again: the pods have not noticed.
func checkCrash(t *testing.T, l *launcher, dir, program string) {
	const containers = "-o=jsonpath={range .items[*]}{.metadata.name}={range .status.containerStatuses[*]}{.containerID},{.restartCount}{end} {end}"
	seen := l.kubectl(dir, "", "get", "pods", containers)
	l.run("", "stop", program, "--kill", "--dir", dir)
	if output, err := l.command("status", "--dir", dir).CombinedOutput(); err == nil || !bytes.Contains(output, []byte(program+" is stopped")) {
		t.Errorf("status: %v, %s", err, output)
	}
	l.run("", "start", program, "--dir", dir)
	l.kubectl(dir, "", "wait", "--for=condition=Ready", "--timeout=60s", "node/real-1", "pod/p", "pod/static-real-1")
	if now := l.kubectl(dir, "", "get", "pods", containers); now != seen {
		t.Errorf("before: %s\nthen: %s", seen, now)
	}
	// Pods that come later find all as it was.
	name := strings.Replace(program, "@", "-", 1)
	l.startPod(dir, name)
	l.kubectl(dir, "", "delete", "pod", name, "--now")
}

func checkEnd(t *testing.T, l *launcher, dir string) {
	following := l.command("kubectl", "--dir", dir, "--", "logs", "--follow", "p")
	var log bytes.Buffer
	following.Stdout = &log
	if err := following.Start(); err != nil {
		t.Fatal(err)
	}
	l.kubectl(dir, "", "delete", "pod", "p", "--wait")
	if err := following.Wait(); err != nil {
		t.Errorf("following the log: %v", err)
	}
	if want := "serving\nasked to end\nended\n"; log.String() != want {
		t.Errorf("the pod has said %q, not %q", &log, want)
	}
}

func checkRefusals(t *testing.T, l *launcher, dir string) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"a second node":           {[]string{"node", "add", "real-2"}, "one machine is one node, and there is one already: real-1"},
		"a name that is in use":   {[]string{"node", "add", "worker-1"}, "a simulated node has it"},
		"a name that none can be": {[]string{"node", "add", "Real_2"}, "lower case letters"},
		"another node's image":    {[]string{"node", "load", "real-2", "--program", "/bin/true", "--name", "x:1"}, "there is no real node of that name: there is real-1"},
		"an image that is none":   {[]string{"node", "load", "real-1", "integration_test.go"}, "ctr"},
		"nothing to load":         {[]string{"node", "load", "real-1"}, "name the image to load"},
		"a program of no node":    {[]string{"stop", "kubelet@real-2"}, "kubelet@real-1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			output, err := l.command(append(tc.args, "--dir", dir)...).CombinedOutput()
			if err == nil || !strings.Contains(string(output), tc.want) {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

// machine is what a node could leave on this machine: what is mounted, interfaces and
// addresses, cgroups, files in places that are not the cluster's, the kernel's settings.
func machine(t *testing.T) []string {
	t.Helper()
	var found []string
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		found = append(found, "mount "+strings.Fields(line)[1])
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		addresses, _ := i.Addrs()
		found = append(found, fmt.Sprint("interface ", i.Name, addresses))
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*/localcluster-*", "/sys/fs/cgroup/localcluster-*", "/run/netns/*"} {
		paths, _ := filepath.Glob(pattern)
		found = append(found, paths...)
	}
	for _, dir := range []string{"/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/lib/containerd", "/var/log/containers", "/var/log/pods", "/opt/containerd", "/opt/cni", "/etc/cni"} {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				found = append(found, path)
			}
			return nil
		})
	}
	for _, setting := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"} {
		content, err := os.ReadFile(filepath.Join("/proc/sys", setting))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, setting+" "+string(bytes.TrimSpace(content)))
	}
	slices.Sort(found)
	return found
}

// checkSameMachine waits for nothing: what is removed is gone when the launcher returns.
func checkSameMachine(t *testing.T, after string, before []string) {
	t.Helper()
	now := machine(t)
	for _, thing := range now {
		if !slices.Contains(before, thing) {
			t.Errorf("after %s, there is still: %s", after, thing)
		}
	}
	for _, thing := range before {
		if !slices.Contains(now, thing) {
			t.Errorf("after %s, there is no longer: %s", after, thing)
		}
	}
	for _, program := range []string{"/server", "/pause", "containerd-shim-runc-v2 -namespace k8s.io"} {
		for _, line := range processes(strings.Fields(program)[0]) {
			if strings.Contains(" "+line, " "+program+" ") || strings.HasPrefix(line, "/usr/bin/"+program) {
				t.Errorf("after %s, there is still a process: %s", after, line)
			}
		}
	}
}
