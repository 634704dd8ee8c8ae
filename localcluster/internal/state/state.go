// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

// kind and version head the file. A launcher reads only its own version.
const (
	kind    = "SlipwayLocalCluster"
	version = 2
)

var (
	// ErrNone means that the directory holds no cluster.
	ErrNone = errors.New("no local cluster here")
	// ErrForeign means that this launcher did not write the state file.
	ErrForeign = errors.New("not the state of a local cluster that this version made")
)

// State is all that is recorded of one cluster.
type State struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// ID is in the environment of every process of this cluster.
	ID string `json:"id"`
	// MadeDir means that the directory was made for the cluster, and is removed with it.
	MadeDir bool   `json:"madeDir"`
	Config  Config `json:"config"`
	// Binaries is the directory of the components' programs, Stages are the files for kwok.
	Binaries string   `json:"binaries"`
	Stages   []string `json:"stages"`
	// KubernetesVersion is the version of the programs.
	KubernetesVersion string `json:"kubernetesVersion"`
	// Ports are the ports of each component. They stay the same when a component starts again, because clients
	// remember them.
	Ports map[string]int `json:"ports"`
	// Established is set once the cluster has been ready. From then on clients may know the
	// ports, and a port that is taken is an error and no reason to choose another.
	Established bool `json:"established"`
	// Components are the processes of the control plane and of the real node.
	Components map[string]process.Identity `json:"components"`
	Pods       []Pod                       `json:"pods,omitempty"`
	// Node is the real node, if there is one.
	Node *Node `json:"node,omitempty"`
}

// Pod is the process that stands for the container of one simulated pod.
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
	// Cgroup is the parent of all of its pods' cgroups.
	Cgroup string `json:"cgroup"`
	// Kubelet is the program.
	Kubelet string `json:"kubelet"`
	// Kernel are the previous values of the kernel settings that a kubelet changes.
	Kernel map[string]int `json:"kernel,omitempty"`
}

// Config is the configuration that a cluster was started with.
type Config struct {
	// Nodes is the number of simulated nodes: worker-1 and so on.
	Nodes int `json:"nodes"`
	// NodeCapacity is the capacity of each simulated node, by resource.
	NodeCapacity map[string]string `json:"nodeCapacity,omitempty"`
	// FeatureGates go to every component of Kubernetes.
	FeatureGates map[string]string `json:"featureGates,omitempty"`
	// RuntimeConfig switches API groups and versions on and off.
	RuntimeConfig map[string]string `json:"runtimeConfig,omitempty"`
	// ExtraArgs are more "flag=value" arguments by component. They come last, so they override
	// the launcher's own.
	ExtraArgs map[string][]string `json:"extraArgs,omitempty"`
	// AuditPolicy is the content of a policy file, or empty for the built-in one.
	AuditPolicy string `json:"auditPolicy,omitempty"`
	// Kubernetes is the version of Kubernetes, or empty for the launcher's own.
	Kubernetes string `json:"kubernetes,omitempty"`
}

// SameControlPlane reports whether both configurations start the same control plane. Nodes do
// not count: a running cluster can get more.
func (c Config) SameControlPlane(other Config) bool {
	return maps.Equal(c.FeatureGates, other.FeatureGates) &&
		maps.Equal(c.RuntimeConfig, other.RuntimeConfig) &&
		maps.EqualFunc(c.ExtraArgs, other.ExtraArgs, slices.Equal) &&
		c.AuditPolicy == other.AuditPolicy &&
		c.Kubernetes == other.Kubernetes
}

// New returns the state of a cluster that is about to be made.
func New(config Config, id string, madeDir bool) *State {
	return &State{
		Kind: kind, Version: version, ID: id, MadeDir: madeDir, Config: config,
		Ports: map[string]int{}, Components: map[string]process.Identity{},
	}
}

// Load reads the state of the cluster in dir, or fails with ErrNone.
func Load(dir Dir) (*State, error) {
	content, err := os.ReadFile(dir.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the cluster: %w", err)
	}
	loaded := New(Config{}, "", false)
	loaded.Kind = ""
	if err := json.Unmarshal(content, loaded); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir.State(), ErrForeign, err)
	}
	if loaded.Kind != kind || loaded.Version != version {
		return nil, fmt.Errorf("%s: %w: kind %q, version %d", dir.State(), ErrForeign, loaded.Kind, loaded.Version)
	}
	return loaded, nil
}

// Save writes the state. The caller holds the lock on the directory.
func (s *State) Save(dir Dir) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the cluster: %w", err)
	}
	return files.Replace(dir.State(), append(content, '\n'))
}

// Pod returns the record of that pod's process, or nil.
func (s *State) Pod(namespace, name string) *Pod {
	for i, pod := range s.Pods {
		if pod.Namespace == namespace && pod.Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}

// SetPod records a pod's process in place of that pod's last one.
func (s *State) SetPod(pod Pod) {
	if recorded := s.Pod(pod.Namespace, pod.Name); recorded != nil {
		*recorded = pod
		return
	}
	s.Pods = append(s.Pods, pod)
}
