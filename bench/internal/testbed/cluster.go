// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Group is the API group in which the testbed serves LifecycleEvents.
const Group = lifecyclev1alpha1.GroupKubernetes

//go:embed gone.yaml
var goneStage string

// Settings returns the arguments of the control plane: its own clients are not limited.
func Settings() map[string][]string {
	return map[string][]string{
		"controller-manager": {"kube-api-qps=500", "kube-api-burst=1000"},
		"scheduler":          {"kube-api-qps=500", "kube-api-burst=1000"},
	}
}

// Options of a cluster.
type Options struct {
	Nodes int
	// Evictions: the cluster serves EvictionRequests.
	Evictions bool
	// Kwok is a further YAML document of kwok's configuration.
	Kwok string
	// Unaudited: the audit log has no objects, so it costs as much for one kind as for another.
	Unaudited bool
	// Args are further flags of the launcher.
	Args []string
}

// Cluster is a local control plane with Slipway's kinds, permissions and policies on it.
type Cluster struct {
	*devcluster.Cluster
	*Progress
	// Dir is for files of the benchmark.
	Dir string
	// Clients and Objects are the administrator's, without a limit on requests. Objects knows Slipway's kinds and EvictionRequests.
	Clients kubernetes.Interface
	Objects client.WithWatch
	// Components are the process ids of the control plane, by name.
	Components map[string]int

	options   Options
	processes []*Process
	agentPods bool // the agents' DaemonSet exists
	tail      auditlog.Tail
}

// Run opens a cluster, runs do on it, and closes it.
func Run(ctx context.Context, o Options, p *Progress, do func(*Cluster) error) (err error) {
	dir, err := os.MkdirTemp("", "slipway-bench-")
	if err != nil {
		return err
	}
	c := &Cluster{Progress: p, Dir: dir, options: o}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := p.During(fmt.Sprintf("starting a cluster of %d nodes", o.Nodes), func() error { return c.open(ctx) }); err != nil {
		return err
	}
	return do(c)
}

func (c *Cluster) open(ctx context.Context) error {
	arguments, err := c.arguments()
	if err != nil {
		return err
	}
	c.Cluster, err = devcluster.Run(ctx, devcluster.Options{Dir: filepath.Join(c.Dir, "cluster"), Nodes: c.options.Nodes, Args: arguments})
	if err != nil {
		return err
	}
	c.Components = c.PIDs()
	if err := c.InstallAll(ctx); err != nil {
		return err
	}
	if c.Clients, err = kubernetes.NewForConfig(c.Config("slipway-bench")); err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	scheme := apigroup.In(Group).Scheme()
	if err := evictionv1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	if c.Objects, err = client.NewWithWatch(c.Config("slipway-bench"), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("build a client for Slipway's kinds: %w", err)
	}
	return nil
}

// InstallAll applies the manifests that the options select.
func (c *Cluster) InstallAll(ctx context.Context) error {
	if err := c.Install(ctx, Group); err != nil || !c.options.Evictions {
		return err
	}
	return c.InstallEvictions(ctx)
}

// arguments returns the flags of the launcher, and writes the files that they name.
func (c *Cluster) arguments() ([]string, error) {
	policy, simulation := filepath.Join(c.Dir, "audit-policy.yaml"), filepath.Join(c.Dir, "kwok.yaml")
	arguments := []string{
		"--quiet", "--timeout=10m", "--node-capacity=cpu=256,memory=1Ti,ephemeral-storage=1Ti,pods=700",
		"--kwok-arg=config=" + simulation,
	}
	if !c.options.Unaudited {
		arguments = append(arguments, "--audit-policy="+policy)
	}
	for component, values := range Settings() {
		for _, value := range values {
			arguments = append(arguments, "--"+component+"-arg="+value)
		}
	}
	err := os.WriteFile(policy, []byte(auditcheck.Policy), 0o600)
	return append(arguments, c.options.Args...), errors.Join(err, os.WriteFile(simulation, []byte(goneStage+c.options.Kwok), 0o600))
}

// close stops all processes, takes the cluster down and removes its files.
func (c *Cluster) close() error {
	var errs []error
	for _, p := range c.processes {
		errs = append(errs, p.Kill())
	}
	if c.Cluster != nil {
		errs = append(errs, c.Cluster.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(c.Dir))...)
}

// Config returns the administrator's credentials, without a limit on requests, for a program
// with a name. EvictionRequests are custom resources here, which are not served as protobuf.
func (c *Cluster) Config(userAgent string) *rest.Config {
	config := rest.CopyConfig(c.Admin)
	config.UserAgent, config.QPS, config.ContentType = userAgent, -1, runtime.ContentTypeJSON
	return config
}
