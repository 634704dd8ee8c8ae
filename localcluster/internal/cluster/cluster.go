// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Cluster is the cluster in one directory, whether it exists or not.
type Cluster struct {
	dir    state.Dir
	report *progress.Reporter
}

// Open returns the cluster in this directory.
func Open(dir string, report *progress.Reporter) (*Cluster, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory %s: %w", dir, err)
	}
	return &Cluster{dir: state.Dir(absolute), report: report}, nil
}

// Dir is the cluster's directory.
func (c *Cluster) Dir() state.Dir { return c.dir }

// api returns a client of the API server, as its administrator.
func (c *Cluster) api(st *state.State) (*typedcorev1.CoreV1Client, error) {
	client, err := typedcorev1.NewForConfig(&rest.Config{
		Host: c.settings(st).Server(), TLSClientConfig: component.Access(c.dir, component.Authority, component.Admin),
		UserAgent: "localcluster", QPS: -1, // which is no limit
	})
	if err != nil {
		return nil, fmt.Errorf("build a client of the API server: %w", err)
	}
	return client, nil
}

// change changes the state of an existing cluster under the lock, and saves it.
func (c *Cluster) change(ctx context.Context, do func(*state.State) error) error {
	if _, err := state.Load(c.dir); err != nil {
		return err
	}
	unlock, err := files.Lock(ctx, string(c.dir), c.report)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := state.Load(c.dir)
	if err != nil {
		return err
	}
	if err := do(st); err != nil {
		return err
	}
	return st.Save(c.dir)
}

func (c *Cluster) settings(st *state.State) component.Settings {
	return component.Settings{Dir: c.dir, Config: st.Config, Ports: st.Ports, Stages: st.Stages}
}

// realNode is the cluster's real node, if it has one.
func (c *Cluster) realNode(st *state.State) realnode.Node {
	return realnode.Node{Node: *st.Node, Settings: c.settings(st)}
}

// componentNames lists the components of the control plane and of the real node.
func (c *Cluster) componentNames(st *state.State) []string {
	names := component.Names()
	if st.Node != nil {
		names = append(names, c.realNode(st).Components()...)
	}
	return names
}

// ErrUnknownComponent means that there is no component of that name.
var ErrUnknownComponent = errors.New("unknown component")

// component returns a component of the control plane or of the real node.
func (c *Cluster) component(name string, st *state.State) (component.Component, error) {
	wanted, found := component.Build(name, c.settings(st))
	if program, node, isNode := realnode.SplitComponent(name); isNode && st.Node != nil && st.Node.Name == node {
		wanted, found = c.realNode(st).Component(program)
	}
	if !found {
		return wanted, unknown(name, c.componentNames(st))
	}
	return wanted, nil
}

func unknown(name string, known []string) error {
	return fmt.Errorf("%w %q; there are %s", ErrUnknownComponent, name, strings.Join(known, ", "))
}

// The environment variables by which every process of a cluster, of its real node and of one of
// its pods can be found again.
const (
	markerName     = "SLIPWAY_LOCALCLUSTER_ID"
	nodeMarkerName = "SLIPWAY_LOCALCLUSTER_NODE"
	podMarkerName  = "SLIPWAY_LOCALCLUSTER_POD"
)

func marker(st *state.State) string { return markerName + "=" + st.ID }

func nodeMarker(st *state.State, node string) string {
	return fmt.Sprintf("%s=%s/%s", nodeMarkerName, st.ID, node)
}

func podMarker(st *state.State, namespace, name string) string {
	return fmt.Sprintf("%s=%s/%s/%s", podMarkerName, st.ID, namespace, name)
}

// environment returns the environment of a component. It takes little from the launcher's own, so that a cluster is
// the same wherever it starts.
func (c *Cluster) environment(st *state.State, name string) []string {
	environment := []string{
		marker(st),
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + c.dir.KwokHome(),
		"KWOK_WORKDIR=" + c.dir.KwokHome(),
	}
	for _, name := range []string{"TMPDIR", "GOMAXPROCS", "GOGC", "GOMEMLIMIT"} {
		if value, found := os.LookupEnv(name); found {
			environment = append(environment, name+"="+value)
		}
	}
	if _, node, isNode := realnode.SplitComponent(name); isNode {
		environment = append(environment, nodeMarker(st, node))
	}
	return environment
}

// quote is the end of a component's log, to be put behind an error.
func (c *Cluster) quote(component string) string {
	path := c.dir.Log(component)
	end := tail(path)
	if end == "" {
		return fmt.Sprintf(" (it wrote nothing to %s)", path)
	}
	return fmt.Sprintf("\n--- the end of %s\n%s\n---", path, end)
}

// tail returns the last lines of a file, or nothing if it cannot be read.
func tail(path string) string {
	const kept = 15
	content, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-kept):], "\n")
}
