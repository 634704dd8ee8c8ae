// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options of a cluster.
type Options struct {
	// Launcher is the path of the localcluster binary. Empty: [FindLauncher].
	Launcher string
	// Dir is the cluster's directory. It must not exist, or be that of a cluster.
	Dir string
	// Nodes is the number of simulated nodes: worker-1 and so on.
	Nodes int
	// Args are further flags of the launcher.
	Args []string
	// Stderr gets the launcher's progress reports.
	Stderr io.Writer
}

// Facts are the launcher's report about a cluster.
type Facts struct {
	Dir        string   `json:"dir"`
	Kubeconfig string   `json:"kubeconfig"`
	Server     string   `json:"server"`
	Version    string   `json:"version"`
	AuditLog   string   `json:"auditLog"`
	Kubectl    string   `json:"kubectl"`
	Nodes      []string `json:"nodes"`
	// Components are the processes of the control plane at its start.
	Components []Component `json:"components"`
	// Pods are those with a process.
	Pods []Pod `json:"pods"`
}

// Reduced returns whether the server is older than Kubernetes 1.36: it has neither constrained impersonation nor mutating
// admission policies.
func (f Facts) Reduced() bool {
	served, err := version.ParseSemantic(f.Version)
	return err == nil && served.LessThan(version.MajorMinor(1, 36))
}

// Component is a process of the control plane, such as etcd.
type Component struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// PIDs returns the process IDs of the control plane at its start, by the names of its
// components.
func (f Facts) PIDs() map[string]int {
	pids := map[string]int{}
	for _, c := range f.Components {
		pids[c.Name] = c.PID
	}
	return pids
}

// Pod is a simulated pod with a real process.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is "running" while the process exists.
	State string `json:"state"`
	Log   string `json:"log"`
}

// Cluster is a local control plane.
type Cluster struct {
	Facts
	// Admin are the credentials of the cluster's administrator.
	Admin *rest.Config

	launcher string
	root     string // of the repository whose manifests are installed; empty: [Root]
	stderr   io.Writer
	release  func() error
}

// Up starts a cluster that outlives this process, or attaches to it if it runs.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	return ask(ctx, options, options.arguments("up"))
}

// Attach returns a cluster that runs, or an error if it does not.
func Attach(ctx context.Context, options Options) (*Cluster, error) {
	return ask(ctx, options, []string{"status", "--dir", options.Dir})
}

// ask returns the cluster that a command of the launcher prints.
func ask(ctx context.Context, options Options, arguments []string) (*Cluster, error) {
	c, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := c.launch(ctx, &out, append(arguments, "-o", "json")...); err != nil {
		return nil, err
	}
	return c, c.read(out.Bytes())
}

// Run starts a cluster that is removed when this process ends, or by [Cluster.Close].
func Run(ctx context.Context, options Options) (*Cluster, error) {
	c, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, c.launcher, options.arguments("run")...)
	command.Stderr = c.stderr
	// The launcher takes everything down when its standard input ends, as it does when
	// this process dies: it needs no signal.
	command.Cancel = func() error { return nil }
	hold, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("run the cluster: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run the cluster: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("run the cluster: %w", err)
	}
	c.release = func() error { return errors.Join(hold.Close(), command.Wait()) }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, errors.Join(errors.New("the cluster did not start"), c.release())
	}
	return c, c.read(line)
}

// Close takes down a cluster that was started by [Run].
func (c *Cluster) Close() error {
	if c.release == nil {
		return nil
	}
	return c.release()
}

// Down takes down the cluster in the given directory.
func Down(ctx context.Context, options Options) error {
	c, err := newCluster(options)
	if err != nil {
		return err
	}
	return c.launch(ctx, io.Discard, "down", "--dir", options.Dir)
}

// Stop stops a component, such as kube-apiserver; Start starts it again.
func (c *Cluster) Stop(ctx context.Context, component string) error {
	return c.launch(ctx, io.Discard, "stop", component, "--dir", c.Dir)
}

// Start starts a component that was stopped, with further flags of the launcher, and returns when it is well.
func (c *Cluster) Start(ctx context.Context, component string, flags ...string) error {
	return c.launch(ctx, io.Discard, append([]string{"start", component, "--dir", c.Dir}, flags...)...)
}

func newCluster(options Options) (*Cluster, error) {
	c := &Cluster{launcher: options.Launcher, stderr: options.Stderr}
	if c.stderr == nil {
		c.stderr = os.Stderr
	}
	if c.launcher == "" {
		var err error
		if c.launcher, err = FindLauncher(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (o Options) arguments(verb string) []string {
	return append([]string{verb, "--dir", o.Dir, "--nodes", strconv.Itoa(o.Nodes)}, o.Args...)
}

func (c *Cluster) launch(ctx context.Context, out io.Writer, arguments ...string) error {
	command := exec.CommandContext(ctx, c.launcher, arguments...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stdout, command.Stderr = out, c.stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("localcluster %s: %w", arguments[0], err)
	}
	return nil
}

// read parses the facts.
func (c *Cluster) read(text []byte) error {
	if err := json.Unmarshal(text, &c.Facts); err != nil {
		return fmt.Errorf("read the facts from the launcher, %q: %w", text, err)
	}
	admin, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.Kubeconfig, err)
	}
	// Goroutines would watch the files of certificates until a garbage collection: these files
	// never change.
	if err := rest.LoadTLSFiles(admin); err != nil {
		return fmt.Errorf("read the certificates of %s: %w", c.Kubeconfig, err)
	}
	admin.CAFile, admin.CertFile, admin.KeyFile = "", "", ""
	admin.QPS, admin.Burst = 200, 400
	c.Admin = admin
	return nil
}

// LauncherVariable names the launcher's binary, where it is not bin/localcluster.
const LauncherVariable = "SLIPWAY_LOCALCLUSTER"

// FindLauncher finds the launcher's binary.
func FindLauncher() (string, error) {
	if path := os.Getenv(LauncherVariable); path != "" {
		return path, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "localcluster")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("there is no local control plane: run 'make localcluster' first: %w", err)
	}
	return path, nil
}

// Root returns the root of the repository that the process was started in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "config", "crd")); err == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.New("find the repository: no directory above the current one has config/crd")
}
