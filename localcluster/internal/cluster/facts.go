// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/nodes"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Condition says how a cluster or a process is.
type Condition string

// The conditions.
const (
	// Running means that the process runs and says that it is well; for a
	// cluster, that this is so for all of its components.
	Running Condition = "running"
	// Unwell means that the process runs but does not say that it is well.
	Unwell Condition = "unwell"
	// Stopped means that there is no such process.
	Stopped Condition = "stopped"
	// Degraded means that not all components of a cluster are running.
	Degraded Condition = "degraded"
	// Absent means that there is no cluster.
	Absent Condition = "absent"
)

// Facts is what somebody who uses a cluster has to know of it.
type Facts struct {
	Dir        string    `json:"dir"`
	State      Condition `json:"state"`
	Kubeconfig string    `json:"kubeconfig,omitempty"`
	Server     string    `json:"server,omitempty"`
	Version    string    `json:"version,omitempty"`
	CAFile     string    `json:"caFile,omitempty"`
	AuditLog   string    `json:"auditLog,omitempty"`
	Kubectl    string    `json:"kubectl,omitempty"`

	Components []ComponentFacts `json:"components,omitempty"`
	// Nodes are the simulated ones.
	Nodes []string   `json:"nodes,omitempty"`
	Pods  []PodFacts `json:"pods,omitempty"`
	// RealNodes are this machine, if it is one.
	RealNodes []NodeFacts `json:"realNodes,omitempty"`
}

// ComponentFacts is what there is to know of one process of the control plane.
type ComponentFacts struct {
	Name  string    `json:"name"`
	State Condition `json:"state"`
	PID   int       `json:"pid,omitempty"`
	Log   string    `json:"log"`
	// Problem says why it is unwell.
	Problem string `json:"problem,omitempty"`
}

// PodFacts is what there is to know of the process that stands for a pod.
type PodFacts struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	State     Condition `json:"state"`
	// PID is that of the supervisor; its only child is the command.
	PID     int      `json:"pid,omitempty"`
	Log     string   `json:"log,omitempty"`
	Dir     string   `json:"dir"`
	Command []string `json:"command"`
}

// NodeFacts is what there is to know of a real node.
type NodeFacts struct {
	Name string `json:"name"`
	// Address is that of the node; its pods have others of the same network of 256.
	Address string `json:"address"`
	// Socket is containerd's: ctr --address SOCKET --namespace k8s.io.
	Socket string `json:"socket"`
	// Manifests is where static pods are put.
	Manifests string `json:"manifests"`
	// PodLogs has the logs of containers.
	PodLogs string `json:"podLogs"`
	// Cgroup is the one that all pods are under.
	Cgroup     string           `json:"cgroup"`
	Components []ComponentFacts `json:"components"`
}

// Status finds out how the cluster is.
func (c *Cluster) Status(ctx context.Context) (*Facts, error) {
	st, err := state.Load(c.dir)
	if isNone(err) {
		return &Facts{Dir: string(c.dir), State: Absent}, nil
	}
	if err != nil {
		return nil, err
	}
	return c.facts(ctx, st), nil
}

func (c *Cluster) facts(ctx context.Context, st *state.State) *Facts {
	facts := &Facts{
		Dir:        string(c.dir),
		State:      Running,
		Kubeconfig: c.dir.Kubeconfig(),
		Server:     settings(c.dir, st, nil).Server(),
		Version:    st.KubernetesVersion,
		CAFile:     component.AuthorityFile(c.dir),
		AuditLog:   c.dir.AuditLog(),
		Kubectl:    filepath.Join(st.Binaries, "kubectl"),
		Nodes:      nodes.Names(st.Config),
	}
	for _, name := range c.componentNames(st) {
		found := c.componentFacts(ctx, st, name)
		facts.Components = append(facts.Components, found)
		if found.State != Running {
			facts.State = Degraded
		}
	}
	for _, pod := range st.Pods {
		facts.Pods = append(facts.Pods, c.podFacts(pod))
	}
	for _, node := range st.Nodes {
		facts.RealNodes = append(facts.RealNodes, c.nodeFacts(ctx, st, node.Name))
	}
	return facts
}

func (c *Cluster) componentFacts(ctx context.Context, st *state.State, name string) ComponentFacts {
	facts := ComponentFacts{Name: name, State: Stopped, Log: c.dir.Log(name)}
	recorded, found := st.Component(name)
	if !found || !recorded.Process.Alive() {
		return facts
	}
	facts.PID = recorded.Process.PID
	facts.State = Running
	built, err := c.component(name, st, nil)
	if err == nil {
		err = built.Health.Probe(ctx)
	}
	if err != nil {
		facts.State = Unwell
		facts.Problem = err.Error()
	}
	return facts
}

func (c *Cluster) nodeFacts(ctx context.Context, st *state.State, name string) NodeFacts {
	node, _ := c.realNode(st, name)
	facts := NodeFacts{
		Name: name, Address: node.Address(), Socket: node.Socket(), Manifests: node.Manifests(),
		PodLogs: node.PodLogs(), Cgroup: node.Recorded.Cgroup,
	}
	for _, program := range node.Components() {
		facts.Components = append(facts.Components, c.componentFacts(ctx, st, program))
	}
	return facts
}

func (c *Cluster) podFacts(pod state.Pod) PodFacts {
	facts := PodFacts{
		Namespace: pod.Namespace, Name: pod.Name, State: Stopped, Log: pod.Log,
		Dir: c.dir.Pod(pod.Namespace, pod.Name), Command: pod.Command,
	}
	if pod.Process.Alive() {
		facts.State, facts.PID = Running, pod.Process.PID
	}
	return facts
}

// Problem says in a sentence what keeps a cluster from running.
func (f *Facts) Problem() string {
	for _, found := range f.Components {
		switch found.State {
		case Stopped:
			return fmt.Sprintf("%s is stopped; its log is %s", found.Name, found.Log)
		case Unwell:
			return fmt.Sprintf("%s is unwell: %s; its log is %s", found.Name, found.Problem, found.Log)
		case Running, Degraded, Absent:
		}
	}
	return ""
}
