// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// zones of simulated nodes, in turn.
var zones = []string{"zone-a", "zone-b", "zone-c"}

// simulatedNodes lists the simulated nodes of a configuration.
func simulatedNodes(config state.Config) []string {
	names := make([]string, 0, config.Nodes)
	for number := range config.Nodes {
		names = append(names, fmt.Sprintf("worker-%d", number+1))
	}
	return names
}

// createNodes creates the Nodes that do not exist yet. kwok recognizes them by an annotation and simulates their
// kubelets.
func createNodes(ctx context.Context, api typedcorev1.NodesGetter, config state.Config) error {
	capacity, err := capacityOf(config)
	if err != nil {
		return err
	}
	for number, name := range simulatedNodes(config) {
		_, err := api.Nodes().Create(ctx, simulated(name, number, capacity), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	return nil
}

// capacityOf returns the capacity of each simulated node.
func capacityOf(config state.Config) (corev1.ResourceList, error) {
	capacity := corev1.ResourceList{}
	for name, text := range config.NodeCapacity {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("--node-capacity: %s=%s: %w", name, text, err)
		}
		capacity[corev1.ResourceName(name)] = quantity
	}
	return capacity, nil
}

func simulated(name string, number int, capacity corev1.ResourceList) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:       name,
				corev1.LabelOSStable:       "linux",
				corev1.LabelArchStable:     "amd64",
				corev1.LabelTopologyRegion: "local",
				corev1.LabelTopologyZone:   zones[number%len(zones)],
			},
			Annotations: map[string]string{component.KwokAnnotation: component.KwokValue},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: name},
				{Type: corev1.NodeInternalIP, Address: internalIP(number + 1)},
			},
		},
	}
}

// internalIP gives each node a distinct address, outside of the addresses of pods and services. No process listens
// there.
func internalIP(number int) string {
	const perByte = 256
	return netip.AddrFrom4([4]byte{10, byte(128 + number/perByte/perByte), byte(number / perByte), byte(number % perByte)}).String()
}

var errNotReady = errors.New("not ready")

// awaitNodes returns when pods can be scheduled to all of these nodes.
func awaitNodes(ctx context.Context, api typedcorev1.NodesGetter, report *progress.Reporter, names ...string) error {
	return report.Await(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		list, err := api.Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("list nodes: %w", err)
		}
		waiting := slices.Clone(names)
		var message string
		for _, node := range list.Items {
			if err := ready(&node); err == nil {
				waiting = slices.DeleteFunc(waiting, func(name string) bool { return name == node.Name })
			} else if slices.Contains(waiting, node.Name) {
				message = err.Error()
			}
		}
		if len(waiting) == 0 {
			return true, nil
		}
		const few = 5
		return false, fmt.Errorf("%d of %d nodes are %w (%s): %s",
			len(waiting), len(names), errNotReady, strings.Join(waiting[:min(few, len(waiting))], ", "), message)
	})
}

// ready returns nil for a node to which pods can be scheduled. Its taint goes a moment after it
// has become Ready.
func ready(node *corev1.Node) error {
	isReady := func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }
	index := slices.IndexFunc(node.Status.Conditions, isReady)
	switch {
	case index < 0:
		return errors.New("no kubelet has reported its condition")
	case node.Status.Conditions[index].Status != corev1.ConditionTrue:
		return errors.New(node.Status.Conditions[index].Message)
	case slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }):
		return errors.New("it still has the taint " + corev1.TaintNodeNotReady)
	}
	return nil
}

var (
	// ErrNoNode means that the cluster has no real node of that name.
	ErrNoNode = errors.New("there is no real node of that name")
	// ErrNodeName means that a real node cannot have this name.
	ErrNodeName = errors.New("a node cannot have this name")
	// ErrOneNode means that the cluster has another real node.
	ErrOneNode = errors.New("one machine is one node, and there is one already")

	errNotRunning = errors.New("the API server does not run; 'localcluster up' starts it")
)

// nodeName matches what Kubernetes accepts, but no longer than a label's value.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// AddNode makes this machine a node of the cluster, or starts missing programs of the node, and returns when pods can
// run on it. If it fails, it stops the processes that it has started; logs stay.
func (c *Cluster) AddNode(ctx context.Context, name string, request Request) (*NodeFacts, error) {
	if err := realnode.Missing(); err != nil {
		return nil, err
	}
	programs, err := build.Ensure(ctx, request.Cache, build.Node, c.report)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, request.Timeout, fmt.Errorf("not ready within %s", request.Timeout))
	defer cancel()
	var node realnode.Node
	err = c.change(ctx, func(st *state.State) error {
		if err := c.recordNode(ctx, st, name, programs.Program("kubelet")); err != nil {
			return err
		}
		node = c.realNode(st)
		launch := &launch{cluster: c, state: st}
		if err := launch.node(ctx, node, programs.Program("pause")); err != nil {
			launch.undo()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &NodeFacts{
		Name: name, Address: node.Address(), Socket: node.Socket(), Manifests: node.Manifests(), PodLogs: node.PodLogs(), Cgroup: node.Cgroup,
	}, nil
}

// recordNode records the node before anything of it is made, so that Down finds it whatever
// happens next.
func (c *Cluster) recordNode(ctx context.Context, st *state.State, name, kubelet string) error {
	if !st.Components[component.APIServer].Alive() {
		return fmt.Errorf("%s: %w", c.dir, errNotRunning)
	}
	if st.Node == nil || st.Node.Name != name {
		if err := c.checkNodeName(ctx, st, name); err != nil {
			return err
		}
		if err := pickPorts(ctx, st, realnode.PortNames(name)); err != nil {
			return err
		}
		st.Node = &state.Node{
			Name: name, Kernel: realnode.KernelSettings(),
			Cgroup: "localcluster-" + strings.ToLower(NewID()[:8]),
		}
	}
	st.Node.Kubelet = kubelet
	return st.Save(c.dir)
}

func (c *Cluster) checkNodeName(ctx context.Context, st *state.State, name string) error {
	if !nodeName.MatchString(name) {
		return fmt.Errorf("%q: %w: lower case letters, digits and '-', at most 63", name, ErrNodeName)
	}
	if slices.Contains(simulatedNodes(st.Config), name) {
		return fmt.Errorf("%q: %w: a simulated node has it", name, ErrNodeName)
	}
	if st.Node != nil {
		return fmt.Errorf("%w: %s", ErrOneNode, st.Node.Name)
	}
	api, err := c.api(st)
	if err != nil {
		return err
	}
	_, err = api.Nodes().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("%q: %w: the cluster has a Node of that name", name, ErrNodeName)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("look for node %s: %w", name, err)
	}
	return nil
}

// node starts what is missing of the real node.
func (l *launch) node(ctx context.Context, node realnode.Node, pause string) error {
	containerd, kubelet := realnode.Containerd+"@"+node.Name, realnode.Kubelet+"@"+node.Name
	if err := node.Prepare(ctx, l.state.Components[kubelet].PID); err != nil {
		return err
	}
	if err := l.ensure(ctx, containerd); err != nil {
		return err
	}
	if err := node.LoadPause(ctx, pause); err != nil {
		return fmt.Errorf("%w%s", err, l.cluster.quote(containerd))
	}
	if err := l.ensure(ctx, kubelet); err != nil {
		return err
	}
	api, err := l.cluster.api(l.state)
	if err != nil {
		return err
	}
	if err := awaitNodes(ctx, api, l.cluster.report, node.Name); err != nil {
		return fmt.Errorf("%w%s", err, l.cluster.quote(kubelet))
	}
	l.cluster.report.Step("node %s is ready", node.Name)
	return nil
}

// RemoveNode ends the real node with its pods, and removes everything that was made for it. Logs
// of its programs stay until Down.
func (c *Cluster) RemoveNode(ctx context.Context, name string) error {
	return c.change(ctx, func(st *state.State) error {
		if err := checkNode(st, name); err != nil {
			return err
		}
		node := c.realNode(st)
		c.report.Step("stopping node %s and its pods", name)
		for _, program := range slices.Backward(node.Components()) {
			if err := process.Stop(ctx, st.Components[program], stopGrace); err != nil {
				return err
			}
		}
		if err := process.KillStrays(nodeMarker(st, name)); err != nil {
			return err
		}
		if err := node.Clean(ctx); err != nil {
			return err
		}
		if err := c.forgetNode(ctx, st, node); err != nil {
			return err
		}
		c.report.Step("node %s is removed", name)
		return nil
	})
}

// forgetNode removes the node from the API, if the API server runs, and from the state.
func (c *Cluster) forgetNode(ctx context.Context, st *state.State, node realnode.Node) error {
	if st.Components[component.APIServer].Alive() {
		api, err := c.api(st)
		if err != nil {
			return err
		}
		if err := api.Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete node %s: %w", node.Name, err)
		}
	}
	st.Node = nil
	for _, program := range node.Components() {
		delete(st.Components, program)
	}
	for _, port := range realnode.PortNames(node.Name) {
		delete(st.Ports, port)
	}
	return nil
}

// LoadImage loads images from an archive or a directory into the real node, or with a program
// the image of that static program. It returns their names; name is for those that have none.
func (c *Cluster) LoadImage(ctx context.Context, node, path, program, name string) ([]string, error) {
	st, err := state.Load(c.dir)
	if err != nil {
		return nil, err
	}
	if err := checkNode(st, node); err != nil {
		return nil, err
	}
	if program != "" {
		return c.realNode(st).LoadProgram(ctx, program, name)
	}
	return c.realNode(st).Load(ctx, path, name)
}

func checkNode(st *state.State, name string) error {
	if st.Node == nil {
		return fmt.Errorf("%q: %w: the cluster has none", name, ErrNoNode)
	}
	if st.Node.Name != name {
		return fmt.Errorf("%q: %w: there is %s", name, ErrNoNode, st.Node.Name)
	}
	return nil
}
