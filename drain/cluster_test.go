// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// The tests of this file's cluster run on a real control plane, which starts with the first test that needs it and ends
// with the last. Every test drains nodes of its own.

const clusterNodes = 60

type cluster struct {
	launcher string
	dir      string
	auditLog string
	trail    auditTrail
	config   *rest.Config
	admin    kubernetes.Interface
	nodes    []string
	taken    atomic.Int32

	process *exec.Cmd
	stdin   io.Closer
}

var startOnce = sync.OnceValues(startCluster)

// running returns the cluster that the tests share.
func running(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	c, err := startOnce()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var started *cluster // for TestMain

func startCluster() (*cluster, error) {
	launcher, err := findLauncher()
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "drain-test-")
	if err != nil {
		return nil, err
	}
	c := &cluster{launcher: launcher, dir: filepath.Join(temp, "cluster")}
	started = c
	policy := filepath.Join(temp, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditcheck.Policy), 0o600); err != nil {
		return nil, err
	}
	c.process = exec.Command(launcher, "run", "--quiet", "--dir", c.dir, "--nodes", fmt.Sprint(clusterNodes), "--audit-policy", policy)
	c.process.Stderr = os.Stderr
	stdin, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	return c, c.read(stdout)
}

// read reads the facts that the launcher prints when the cluster is ready.
func (c *cluster) read(stdout io.Reader) error {
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the cluster did not start: %w", err)
	}
	var facts struct {
		Kubeconfig string   `json:"kubeconfig"`
		AuditLog   string   `json:"auditLog"`
		Nodes      []string `json:"nodes"`
	}
	if err := json.Unmarshal(line, &facts); err != nil {
		return fmt.Errorf("read the facts of the cluster: %w", err)
	}
	c.auditLog, c.nodes = facts.AuditLog, facts.Nodes
	c.config, err = clientcmd.BuildConfigFromFlags("", facts.Kubeconfig)
	if err != nil {
		return err
	}
	if err := rest.LoadTLSFiles(c.config); err != nil {
		return err
	}
	// The client would keep watching the files, and nothing could end that.
	c.config.CAFile, c.config.CertFile, c.config.KeyFile = "", "", ""
	c.config.QPS = -1 // the tests measure the drain, not the client's own limit
	c.admin, err = kubernetes.NewForConfig(c.config)
	return err
}

func (c *cluster) stop() {
	if c.stdin != nil {
		_ = c.stdin.Close()
	}
	if c.process.Process != nil {
		_ = c.process.Wait()
	}
	_ = os.RemoveAll(filepath.Dir(c.dir))
}

// component stops or starts a component of the control plane.
func (c *cluster) component(t *testing.T, verb, name string) {
	t.Helper()
	out, err := exec.Command(c.launcher, verb, name, "--quiet", "--dir", c.dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", verb, name, err, out)
	}
}

// takeNodes returns nodes that no other test uses.
func (c *cluster) takeNodes(t *testing.T, n int) []string {
	t.Helper()
	end := int(c.taken.Add(int32(n))) + 1 // the first one is the example's
	if end > len(c.nodes) {
		t.Fatalf("the tests need more than %d nodes", len(c.nodes))
	}
	return c.nodes[end-n : end]
}

// asNode returns a client with the rights of a kubelet, which the Node authorizer and NodeRestriction hold it to.
func (c *cluster) asNode(t *testing.T, node string) kubernetes.Interface {
	t.Helper()
	return c.as(t, rest.ImpersonationConfig{UserName: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}})
}

func (c *cluster) as(t *testing.T, who rest.ImpersonationConfig) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate = who
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// request is one that the API server has written down in its audit log.
type request struct {
	AuditID, Stage, Verb                     string
	RequestReceivedTimestamp, StageTimestamp time.Time
	ImpersonatedUser                         struct{ Username string }
	ObjectRef                                struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus                           struct{ Code int }
}

// evictions returns the evictions in a namespace that the server has answered.
func (c *cluster) evictions(t *testing.T, namespace string) []request {
	t.Helper()
	return c.requests(t, func(r request) bool {
		return r.ObjectRef.Subresource == "eviction" && r.ObjectRef.Namespace == namespace && r.Stage == "ResponseComplete"
	})
}

// findLauncher looks for the program that starts a control plane.
func findLauncher() (string, error) {
	if path := os.Getenv("SLIPWAY_LOCALCLUSTER"); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
	}
	path := filepath.Join(dir, "bin", "localcluster")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("these tests need a control plane: run make localcluster (%w), or go test -short", err)
	}
	return path, nil
}
