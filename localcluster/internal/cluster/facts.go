// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Condition is the condition of a cluster or a process.
type Condition string

// The conditions.
const (
	// Running means that the process runs and reports that it is healthy; of a cluster, that all
	// of its components do.
	Running Condition = "running"
	// Unwell means that the process runs but does not report that it is healthy.
	Unwell Condition = "unwell"
	// Stopped means that the process does not run.
	Stopped Condition = "stopped"
	// Degraded means that not all components of a cluster are running.
	Degraded Condition = "degraded"
	// Absent means that there is no cluster.
	Absent Condition = "absent"
)

// Facts describes a cluster to its users.
type Facts struct {
	Dir        string    `json:"dir"`
	State      Condition `json:"state"`
	Kubeconfig string    `json:"kubeconfig,omitempty"`
	Server     string    `json:"server,omitempty"`
	Version    string    `json:"version,omitempty"`
	CAFile     string    `json:"caFile,omitempty"`
	AuditLog   string    `json:"auditLog,omitempty"`
	Kubectl    string    `json:"kubectl,omitempty"`

	// Components are the processes of the control plane and of the real node.
	Components []ComponentFacts `json:"components,omitempty"`
	// Nodes are the simulated ones.
	Nodes []string   `json:"nodes,omitempty"`
	Pods  []PodFacts `json:"pods,omitempty"`
}

// ComponentFacts is about one component.
type ComponentFacts struct {
	Name  string    `json:"name"`
	State Condition `json:"state"`
	PID   int       `json:"pid,omitempty"`
	Log   string    `json:"log"`
	// Problem explains why it is unwell.
	Problem string `json:"problem,omitempty"`
}

// PodFacts is about the process that stands for a pod.
type PodFacts struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	State     Condition `json:"state"`
	// PID is the process ID of the supervisor, whose only child is the command.
	PID     int      `json:"pid,omitempty"`
	Log     string   `json:"log,omitempty"`
	Dir     string   `json:"dir"`
	Command []string `json:"command"`
}

// NodeFacts is about the real node.
type NodeFacts struct {
	Name string `json:"name"`
	// Address is the node's; its pods have further addresses of the same network of 256.
	Address string `json:"address"`
	// Socket is containerd's: ctr --address SOCKET --namespace k8s.io.
	Socket string `json:"socket"`
	// Manifests is the directory of static pods.
	Manifests string `json:"manifests"`
	// PodLogs has the logs of containers.
	PodLogs string `json:"podLogs"`
	// Cgroup is the parent of all pods' cgroups.
	Cgroup string `json:"cgroup"`
}

// Status returns the facts of the cluster.
func (c *Cluster) Status(ctx context.Context) (*Facts, error) {
	st, err := state.Load(c.dir)
	if errors.Is(err, state.ErrNone) {
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
		Server:     c.settings(st).Server(),
		Version:    st.KubernetesVersion,
		CAFile:     c.dir.Cert(component.Authority),
		AuditLog:   c.dir.AuditLog(),
		Kubectl:    filepath.Join(st.Binaries, "kubectl"),
		Nodes:      simulatedNodes(st.Config),
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
	return facts
}

func (c *Cluster) componentFacts(ctx context.Context, st *state.State, name string) ComponentFacts {
	facts := ComponentFacts{Name: name, State: Stopped, Log: c.dir.Log(name)}
	recorded := st.Components[name]
	if !recorded.Alive() {
		return facts
	}
	facts.State, facts.PID = Running, recorded.PID
	wanted, err := c.component(name, st)
	if err == nil {
		err = wanted.Health.Probe(ctx)
	}
	if err != nil {
		facts.State, facts.Problem = Unwell, err.Error()
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

// Problem names in a sentence the reason why a cluster is not running.
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
