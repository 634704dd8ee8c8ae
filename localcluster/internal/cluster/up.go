// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

var (
	// ErrDifferent means that a cluster runs with other settings than the request has.
	ErrDifferent = errors.New("it already runs with other settings of its control plane; take it down first")
	// ErrNotOurs means that a directory is not empty and not a cluster's.
	ErrNotOurs = errors.New("the directory holds something that is not a local cluster, and stays unchanged")

	errEnded    = errors.New("ended by itself")
	errPortUsed = errors.New("its port is taken")
)

// Request describes the cluster to start.
type Request struct {
	// Configure changes the configuration of the existing cluster, or the default one.
	Configure func(*state.Config)
	// Cache is the directory of built control planes.
	Cache string
	// ID identifies a new cluster. Empty: a random ID.
	ID string
	// Timeout is for the start alone, without building the control plane.
	Timeout time.Duration
}

// DefaultConfig is the configuration of a request without settings.
func DefaultConfig() state.Config {
	return state.Config{
		Nodes:        3,
		NodeCapacity: map[string]string{"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "250"},
	}
}

// NewID returns an identity that no other cluster has.
func NewID() string { return rand.Text() }

// Up starts missing parts of the cluster and returns when it is ready. If it fails, it stops the processes that it
// has started; logs stay until Down.
func (c *Cluster) Up(ctx context.Context, request Request) (*Facts, error) {
	version, err := c.kubernetes(request)
	if err != nil {
		return nil, err
	}
	built, err := build.EnsureControlPlane(ctx, request.Cache, version, c.report)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, request.Timeout, fmt.Errorf("not ready within %s", request.Timeout))
	defer cancel()

	_, err = os.Stat(string(c.dir))
	madeDir := errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(string(c.dir), files.PrivateDir); err != nil {
		return nil, fmt.Errorf("make the cluster's directory: %w", err)
	}
	unlock, err := files.Lock(ctx, string(c.dir), c.report)
	if err != nil {
		return nil, err
	}
	defer unlock()

	st, err := c.loadOrCreate(ctx, request, madeDir)
	if err != nil {
		return nil, err
	}
	st.Binaries, st.Stages, st.KubernetesVersion = built.Binaries, built.Stages, built.Version
	launch := &launch{cluster: c, state: st}
	if err := launch.everything(ctx); err != nil {
		launch.undo()
		return nil, err
	}
	return c.facts(ctx, st), nil
}

// kubernetes returns the requested version of Kubernetes, or the version of the existing cluster.
func (c *Cluster) kubernetes(request Request) (string, error) {
	config := DefaultConfig()
	st, err := state.Load(c.dir)
	if err == nil {
		config = st.Config
	} else if !errors.Is(err, state.ErrNone) {
		return "", err
	}
	request.Configure(&config)
	return config.Kubernetes, nil
}

func (c *Cluster) loadOrCreate(ctx context.Context, request Request, madeDir bool) (*state.State, error) {
	st, err := state.Load(c.dir)
	if errors.Is(err, state.ErrNone) {
		config := DefaultConfig()
		request.Configure(&config)
		return create(ctx, c.dir, config, request.ID, madeDir)
	}
	if err != nil {
		return nil, err
	}
	wanted := st.Config
	request.Configure(&wanted)
	if isAlive(st) && !wanted.SameControlPlane(st.Config) {
		return nil, fmt.Errorf("the cluster in %s: %w", c.dir, ErrDifferent)
	}
	wanted.Nodes = max(wanted.Nodes, st.Config.Nodes) // the launcher never removes nodes
	st.Config = wanted
	return st, nil
}

func isAlive(st *state.State) bool {
	for _, found := range st.Components {
		if found.Alive() {
			return true
		}
	}
	return false
}

// create marks an empty directory as a cluster's and makes everything that components need
// before the first of them starts.
func create(ctx context.Context, dir state.Dir, config state.Config, id string, madeDir bool) (*state.State, error) {
	entries, err := os.ReadDir(string(dir))
	if err != nil {
		return nil, fmt.Errorf("look into the cluster's directory: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotOurs)
	}
	if id == "" {
		id = NewID()
	}
	st := state.New(config, id, madeDir)
	for _, name := range component.Names() {
		if err := pickPorts(ctx, st, component.PortNames(name)); err != nil {
			return nil, err
		}
	}
	// First of all: whatever happens next, the directory is known to be the cluster's.
	if err := st.Save(dir); err != nil {
		return nil, err
	}
	for _, made := range []string{dir.PKI(), dir.Logs(), dir.KwokHome()} {
		if err := os.MkdirAll(made, files.PrivateDir); err != nil {
			return nil, fmt.Errorf("make a directory of the cluster: %w", err)
		}
	}
	return st, component.WriteIdentities(dir)
}

// Ports are below those that Linux gives to outgoing connections (32768 and up): while a
// component is stopped for a fault test, no client's connection can take its port by chance.
const lowestPort, highestPort = 20000, 32000

var errNoPort = errors.New("no free TCP port on 127.0.0.1")

// pickPorts chooses a port for each name on which no process listens now. Another process may
// take it before its component does; see launch.ensure.
func pickPorts(ctx context.Context, st *state.State, names []string) error {
	for _, name := range names {
		port, err := pickPort(ctx)
		if err != nil {
			return fmt.Errorf("choose where %s listens: %w", name, err)
		}
		st.Ports[name] = port
	}
	return nil
}

func pickPort(ctx context.Context) (int, error) {
	const attempts = 200
	var config net.ListenConfig
	for range attempts {
		port := lowestPort + mathrand.IntN(highestPort-lowestPort)
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("%w between %d and %d after %d attempts", errNoPort, lowestPort, highestPort, attempts)
}

// writeSettings writes the files that follow from configuration and ports. It runs again when
// those change.
func (c *Cluster) writeSettings(st *state.State) error {
	policy := st.Config.AuditPolicy
	if policy == "" {
		policy = component.DefaultAuditPolicy
	}
	if err := files.Replace(c.dir.AuditPolicy(), []byte(policy)); err != nil {
		return err
	}
	return component.WriteKubeconfigs(c.settings(st))
}

// launch is one attempt to bring a cluster up.
type launch struct {
	cluster *Cluster

	// mu guards the rest: several components start at a time.
	mu      sync.Mutex
	state   *state.State
	started []process.Identity
}

// everything starts the components in the order in which they need each other.
func (l *launch) everything(ctx context.Context) error {
	if err := l.cluster.writeSettings(l.state); err != nil {
		return err
	}
	if err := l.state.Save(l.cluster.dir); err != nil {
		return err
	}
	for _, name := range []string{component.Etcd, component.APIServer} {
		if err := l.ensure(ctx, name); err != nil {
			return err
		}
	}
	api, err := l.cluster.api(l.state)
	if err != nil {
		return err
	}
	group, groupContext := errgroup.WithContext(ctx)
	for _, name := range []string{component.ControllerManager, component.Scheduler, component.Kwok} {
		group.Go(func() error { return l.ensure(groupContext, name) })
	}
	group.Go(func() error { return l.awaitUsable(groupContext, api) })
	if err := group.Wait(); err != nil {
		return err
	}
	l.state.Established = true
	if len(l.started) == 0 {
		l.cluster.report.Step("the cluster already runs")
	} else {
		l.cluster.report.Step("the cluster is ready")
	}
	return l.state.Save(l.cluster.dir)
}

// awaitUsable returns when pods can be created and scheduled: nodes are ready, and the
// controller-manager has created the service account that every pod needs.
func (l *launch) awaitUsable(ctx context.Context, api typedcorev1.CoreV1Interface) error {
	names := simulatedNodes(l.state.Config)
	if err := createNodes(ctx, api, l.state.Config); err != nil {
		return err
	}
	if err := awaitNodes(ctx, api, l.cluster.report, names...); err != nil {
		return fmt.Errorf("%w%s", err, l.cluster.quote(component.Kwok))
	}
	l.cluster.report.Step("%d nodes are ready", len(names))
	err := l.cluster.report.Await(ctx, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		_, err := api.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("no default service account: %w%s", err, l.cluster.quote(component.ControllerManager))
	}
	return nil
}

// ensure returns when the component runs and is healthy. Before the cluster has been ready for
// the first time, it replaces a port that another process has taken.
func (l *launch) ensure(ctx context.Context, name string) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		err := l.ensureOnce(ctx, name)
		if !errors.Is(err, errPortUsed) || l.state.Established || attempt == attempts {
			return err
		}
		l.cluster.report.Step("%s: %v; trying another", name, errPortUsed)
		if err := l.changePorts(ctx, name); err != nil {
			return err
		}
	}
}

func (l *launch) ensureOnce(ctx context.Context, name string) error {
	running, wanted, err := l.startUnlessAlive(name)
	if err != nil {
		return err
	}
	err = l.cluster.report.Await(ctx, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		err := wanted.Health.Probe(ctx)
		if !running.Alive() {
			return true, errEnded
		}
		return err == nil, err
	})
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return fmt.Errorf("interrupted while starting %s: %w", name, ctx.Err())
		}
		if errors.Is(err, errEnded) && l.portWasTaken(name) {
			err = errPortUsed
		}
		return fmt.Errorf("%s: %w%s", name, err, l.cluster.quote(name))
	}
	l.cluster.report.Step("%s is well", name)
	return nil
}

// startUnlessAlive starts the component if it does not run.
func (l *launch) startUnlessAlive(name string) (process.Identity, component.Component, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted, err := l.cluster.component(name, l.state)
	if err != nil {
		return process.Identity{}, wanted, err
	}
	if recorded := l.state.Components[name]; recorded.Alive() {
		return recorded, wanted, nil
	}
	l.cluster.report.Step("starting %s", name)
	program := wanted.Program
	if program == "" {
		program = filepath.Join(l.state.Binaries, name)
	}
	started, err := process.Start(process.Spec{
		Path: program, Args: wanted.Args,
		Env: l.cluster.environment(l.state, name), Dir: string(l.cluster.dir), Log: l.cluster.dir.Log(name),
	})
	if err != nil {
		return process.Identity{}, wanted, err
	}
	l.started = append(l.started, started)
	l.state.Components[name] = started
	return started, wanted, l.state.Save(l.cluster.dir)
}

func (l *launch) portWasTaken(name string) bool {
	return strings.Contains(tail(l.cluster.dir.Log(name)), "address already in use")
}

func (l *launch) changePorts(ctx context.Context, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := pickPorts(ctx, l.state, component.PortNames(name)); err != nil {
		return err
	}
	// The next attempt must not find the complaint of the last one.
	if err := os.Remove(l.cluster.dir.Log(name)); err != nil {
		return fmt.Errorf("begin a new log for %s: %w", name, err)
	}
	if name == component.Etcd {
		// An etcd that has begun to store remembers its old address.
		if err := os.RemoveAll(l.cluster.dir.EtcdData()); err != nil {
			return fmt.Errorf("begin again with etcd: %w", err)
		}
	}
	return l.cluster.writeSettings(l.state)
}

// undo stops the processes of this launch. Its caller returns a worse error already.
func (l *launch) undo() { _ = stopAll(context.Background(), l.started, partingGrace) }
