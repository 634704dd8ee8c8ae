// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/nodes"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// nodeMarkerName is the environment variable by which the processes of one real node
// can be found again.
const nodeMarkerName = "SLIPWAY_LOCALCLUSTER_NODE"

var (
	// ErrNoNode means that the cluster has no real node of that name.
	ErrNoNode = errors.New("there is no real node of that name")
	// ErrNodeName means that a real node cannot be called so.
	ErrNodeName = errors.New("a node cannot be called so")
	// ErrOneNode means that the cluster has another real node.
	ErrOneNode = errors.New("one machine is one node, and there is one already")

	errNotRunning = errors.New("the API server does not run; 'localcluster up' starts it")
)

// nodeName is what Kubernetes accepts, but no longer than a label's value.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// AddNode makes this machine a node of the cluster, or starts what is missing of the
// node, and returns when pods can run on it. If it fails, it stops what it has started;
// logs stay.
func (c *Cluster) AddNode(ctx context.Context, name string, request Request) (*NodeFacts, error) {
	if err := realnode.Missing(); err != nil {
		return nil, err
	}
	programs, err := build.EnsureNode(ctx, request.Cache, request.Source, c.report)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, request.Timeout, fmt.Errorf("not ready within %s", request.Timeout))
	defer cancel()
	var facts NodeFacts
	err = c.change(ctx, func(st *state.State) error {
		if err := c.recordNode(ctx, st, name, programs.Kubelet); err != nil {
			return err
		}
		launch := newLaunch(c, st, nil)
		if err := launch.node(ctx, name, programs.Pause); err != nil {
			launch.undo()
			return err
		}
		facts = c.nodeFacts(ctx, st, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &facts, nil
}

// recordNode writes down what the node is given before anything of it is made: so that
// Down finds it, whatever happens next.
func (c *Cluster) recordNode(ctx context.Context, st *state.State, name, kubelet string) error {
	if api, found := st.Component(component.APIServer); !found || !api.Process.Alive() {
		return fmt.Errorf("%s: %w", c.dir, errNotRunning)
	}
	recorded, found := st.Node(name)
	if !found {
		if err := c.checkNodeName(ctx, st, name); err != nil {
			return err
		}
		network, err := realnode.PickNetwork()
		if err != nil {
			return err
		}
		recorded = state.Node{
			Name: name, Network: network, Kernel: realnode.KernelSettings(),
			Cgroup: "localcluster-" + strings.ToLower(NewID()[:8]),
		}
		for _, port := range realnode.PortNames(name) {
			if err := pickPort(ctx, st, port); err != nil {
				return err
			}
		}
	}
	recorded.Kubelet = kubelet
	st.SetNode(recorded)
	return st.Save(c.dir)
}

func (c *Cluster) checkNodeName(ctx context.Context, st *state.State, name string) error {
	if !nodeName.MatchString(name) {
		return fmt.Errorf("%q: %w: lower case letters, digits and '-', at most 63", name, ErrNodeName)
	}
	if slices.Contains(nodes.Names(st.Config), name) {
		return fmt.Errorf("%q: %w: a simulated node is", name, ErrNodeName)
	}
	if len(st.Nodes) > 0 {
		return fmt.Errorf("%w: %s", ErrOneNode, st.Nodes[0].Name)
	}
	api, err := c.API(st)
	if err != nil {
		return err
	}
	err = api.Get(ctx, nodes.Path(name), nil)
	if err == nil {
		return fmt.Errorf("%q: %w: the cluster has a Node of that name", name, ErrNodeName)
	}
	if !kubeapi.IsNotFound(err) {
		return err
	}
	return nil
}

func (c *Cluster) realNode(st *state.State, name string) (realnode.Node, bool) {
	recorded, found := st.Node(name)
	return realnode.Node{Name: name, Settings: settings(c.dir, st, nil), Recorded: recorded}, found
}

// node starts what is missing of a node that is recorded.
func (l *launch) node(ctx context.Context, name, pause string) error {
	node, _ := l.cluster.realNode(l.state, name)
	running, _ := l.state.Component(realnode.Kubelet + "@" + name)
	if err := node.Prepare(ctx, running.Process.PID); err != nil {
		return err
	}
	if err := l.ensure(ctx, realnode.Containerd+"@"+name); err != nil {
		return err
	}
	if err := node.LoadPause(ctx, pause); err != nil {
		return fmt.Errorf("%w%s", err, l.cluster.quote(realnode.Containerd+"@"+name))
	}
	if err := l.ensure(ctx, realnode.Kubelet+"@"+name); err != nil {
		return err
	}
	api, err := l.cluster.API(l.state)
	if err != nil {
		return err
	}
	if err := nodes.AwaitOne(ctx, api, name, l.cluster.report); err != nil {
		return fmt.Errorf("%w%s", err, l.cluster.quote(realnode.Kubelet+"@"+name))
	}
	l.cluster.report.Step("node %s is ready", name)
	return nil
}

// RemoveNode ends a real node, its pods with it, and removes all that was made for it.
// Logs of its programs stay until Down.
func (c *Cluster) RemoveNode(ctx context.Context, name string) error {
	return c.change(ctx, func(st *state.State) error {
		node, found := c.realNode(st, name)
		if !found {
			return noNode(st, name)
		}
		c.report.Step("stopping node %s and its pods", name)
		for _, program := range slices.Backward(node.Components()) {
			if recorded, found := st.Component(program); found {
				if err := process.Stop(ctx, recorded.Process, stopGrace); err != nil {
					return err
				}
			}
		}
		if err := process.KillStrays(nodeMarker(name, st)); err != nil {
			return err
		}
		if err := node.Clean(ctx); err != nil {
			return err
		}
		if err := c.forgetNode(ctx, st, node); err != nil {
			return err
		}
		c.report.Step("node %s is gone", name)
		return nil
	})
}

// forgetNode removes the Node from the API, if there is one, and from the state.
func (c *Cluster) forgetNode(ctx context.Context, st *state.State, node realnode.Node) error {
	if server, found := st.Component(component.APIServer); found && server.Process.Alive() {
		api, err := c.API(st)
		if err != nil {
			return err
		}
		if err := api.Delete(ctx, nodes.Path(node.Name)); err != nil && !kubeapi.IsNotFound(err) {
			return err
		}
	}
	st.Nodes = slices.DeleteFunc(st.Nodes, func(n state.Node) bool { return n.Name == node.Name })
	st.Components = slices.DeleteFunc(st.Components, func(found state.Component) bool {
		return slices.Contains(node.Components(), found.Name)
	})
	for _, port := range realnode.PortNames(node.Name) {
		delete(st.Ports, port)
	}
	return nil
}

// cleanNodes removes what is left of all real nodes when no process of the cluster runs.
func (c *Cluster) cleanNodes(ctx context.Context, st *state.State) error {
	var failed []error
	for _, recorded := range st.Nodes {
		node, _ := c.realNode(st, recorded.Name)
		failed = append(failed, node.Clean(ctx))
	}
	return errors.Join(failed...)
}

// LoadImage loads images from an archive or a directory into a real node, and returns
// their names. name is for those that have none.
func (c *Cluster) LoadImage(ctx context.Context, node, path, name string) ([]string, error) {
	return c.load(node, func(n realnode.Node) ([]string, error) { return n.Load(ctx, path, name) })
}

// LoadProgram loads an image that is one static program.
func (c *Cluster) LoadProgram(ctx context.Context, node, program, name string) ([]string, error) {
	return c.load(node, func(n realnode.Node) ([]string, error) { return n.LoadProgram(ctx, program, name) })
}

func (c *Cluster) load(name string, into func(realnode.Node) ([]string, error)) ([]string, error) {
	st, err := state.Load(c.dir)
	if err != nil {
		return nil, err
	}
	node, found := c.realNode(st, name)
	if !found {
		return nil, noNode(st, name)
	}
	return into(node)
}

func noNode(st *state.State, name string) error {
	if len(st.Nodes) == 0 {
		return fmt.Errorf("%q: %w: the cluster has none", name, ErrNoNode)
	}
	return fmt.Errorf("%q: %w: there is %s", name, ErrNoNode, st.Nodes[0].Name)
}

func nodeMarker(node string, st *state.State) string {
	_, id, _ := strings.Cut(st.Marker, "=")
	return fmt.Sprintf("%s=%s/%s", nodeMarkerName, id, node)
}
