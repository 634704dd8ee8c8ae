// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// componentNames lists the components of the control plane and of real nodes.
func (c *Cluster) componentNames(st *state.State) []string {
	names := component.Names()
	for _, recorded := range st.Nodes {
		node, _ := c.realNode(st, recorded.Name)
		names = append(names, node.Components()...)
	}
	return names
}

// component returns a component of the control plane or of a real node.
func (c *Cluster) component(name string, st *state.State, built *build.Built) (component.Component, error) {
	if program, of, isNode := realnode.SplitComponent(name); isNode {
		if node, found := c.realNode(st, of); found {
			if wanted, found := node.Component(program); found {
				return wanted, nil
			}
		}
		return component.Component{}, unknown(name, c.componentNames(st))
	}
	wanted, found := component.Build(name, settings(c.dir, st, built))
	if !found {
		return component.Component{}, unknown(name, c.componentNames(st))
	}
	return wanted, nil
}

func unknown(name string, known []string) error {
	return fmt.Errorf("%w %q; there are %s", ErrUnknownComponent, name, strings.Join(known, ", "))
}

// componentEnvironment is what the component of that name is started with.
func (c *Cluster) componentEnvironment(name string, st *state.State) []string {
	environment := c.environment(st)
	if _, node, isNode := realnode.SplitComponent(name); isNode {
		environment = append(environment, nodeMarker(node, st))
	}
	return environment
}
