// SPDX-License-Identifier: Apache-2.0

// Package state is a cluster's memory between two runs of the launcher: a JSON
// file in the cluster's directory that says what the cluster was started with
// and which processes belong to it. Its presence also marks the directory as a
// cluster's: no other directory is ever emptied.
package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

// kind and version head the file; a launcher reads only what it knows.
const (
	kind    = "SlipwayLocalCluster"
	version = 1
)

// ErrNone means that the directory holds no cluster.
var ErrNone = errors.New("no local cluster here")

// ErrForeign means that the state file is not one that this launcher wrote.
var ErrForeign = errors.New("not the state of a local cluster that this version made")

// State is what is known of one cluster.
type State struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Created time.Time `json:"created"`
	// Marker is in the environment of every process of this cluster.
	Marker string `json:"marker"`
	// MadeDir says that the directory itself was made, and goes with the cluster.
	MadeDir bool   `json:"madeDir"`
	Config  Config `json:"config"`
	// Binaries is the directory of the components' programs.
	Binaries string `json:"binaries"`
	// KubernetesVersion is that of the programs.
	KubernetesVersion string `json:"kubernetesVersion"`
	// Ports says where each component listens. They stay the same when a
	// component is started again: clients hold on to them.
	Ports map[string]int `json:"ports"`
	// Established is set once the cluster has been ready: from then on clients
	// may know the ports, and a taken port is an error and not a reason for
	// another.
	Established bool        `json:"established"`
	Components  []Component `json:"components"`
	Pods        []Pod       `json:"pods,omitempty"`
	// Nodes are the real ones.
	Nodes []Node `json:"nodes,omitempty"`
}

// Component is one process of the control plane.
type Component struct {
	Name    string           `json:"name"`
	Process process.Identity `json:"process"`
	Log     string           `json:"log"`
}

// Pod is the process that stands for one simulated pod's container.
type Pod struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Process   process.Identity `json:"process"`
	Log       string           `json:"log,omitempty"`
	Command   []string         `json:"command"`
}

// Node is a real node on this machine. Its processes are components.
type Node struct {
	Name string `json:"name"`
	// Network is the first three bytes of the addresses of the node and its pods.
	Network string `json:"network"`
	// Cgroup is under which all of its pods are.
	Cgroup string `json:"cgroup"`
	// Kubelet is the program.
	Kubelet string `json:"kubelet"`
	// Kernel are the settings of the kernel that a kubelet changes, as they were.
	Kernel map[string]string `json:"kernel,omitempty"`
}

// New returns the state of a cluster that is about to be made.
func New(config Config, marker string, madeDir bool) *State {
	return &State{
		Kind: kind, Version: version, Created: time.Now().UTC(),
		Config: config, Marker: marker, MadeDir: madeDir, Ports: map[string]int{},
	}
}

// Load reads the state of the cluster in dir, or fails with ErrNone.
func Load(dir layout.Dir) (*State, error) {
	content, err := os.ReadFile(dir.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the cluster: %w", err)
	}
	loaded := new(State)
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(loaded); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir.State(), ErrForeign, err)
	}
	if loaded.Kind != kind || loaded.Version != version {
		return nil, fmt.Errorf("%s: %w: kind %q, version %d", dir.State(), ErrForeign, loaded.Kind, loaded.Version)
	}
	return loaded, nil
}

// Save writes the state; the caller holds the directory's lock.
func (s *State) Save(dir layout.Dir) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the cluster: %w", err)
	}
	const privateMode = 0o600
	return atomicfile.Write(dir.State(), append(content, '\n'), privateMode)
}

// Component returns what is recorded of the component of that name.
func (s *State) Component(name string) (Component, bool) {
	index := slices.IndexFunc(s.Components, func(c Component) bool { return c.Name == name })
	if index < 0 {
		return Component{}, false
	}
	return s.Components[index], true
}

// SetComponent records a component in place of the one of the same name.
func (s *State) SetComponent(component Component) {
	s.Components = slices.DeleteFunc(s.Components, func(c Component) bool { return c.Name == component.Name })
	s.Components = append(s.Components, component)
}

// Pod returns what is recorded of that pod's process.
func (s *State) Pod(namespace, name string) (Pod, bool) {
	index := slices.IndexFunc(s.Pods, func(p Pod) bool { return p.Namespace == namespace && p.Name == name })
	if index < 0 {
		return Pod{}, false
	}
	return s.Pods[index], true
}

// SetPod records a pod's process in place of that pod's last one.
func (s *State) SetPod(pod Pod) {
	s.Pods = slices.DeleteFunc(s.Pods, func(p Pod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name })
	s.Pods = append(s.Pods, pod)
}

// Node returns what is recorded of the real node of that name.
func (s *State) Node(name string) (Node, bool) {
	index := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name })
	if index < 0 {
		return Node{}, false
	}
	return s.Nodes[index], true
}

// SetNode records a real node in place of the one of the same name.
func (s *State) SetNode(node Node) {
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n Node) bool { return n.Name == node.Name })
	s.Nodes = append(s.Nodes, node)
}
