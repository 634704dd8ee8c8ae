// SPDX-License-Identifier: Apache-2.0

// Package nodes puts simulated nodes into a cluster. It only creates the Node
// objects; kwok, which recognises them by an annotation, does what their
// kubelets would do.
package nodes

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

const collection = "/api/v1/nodes"

// zones over which nodes are spread, one after the other.
var zones = []string{"zone-a", "zone-b", "zone-c"}

// node is as much of a Node as is written and read here.
type node struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
	Status     status   `json:"status"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type spec struct {
	Taints []taint `json:"taints,omitempty"`
}

type taint struct {
	Key string `json:"key"`
}

type status struct {
	Capacity    map[string]string `json:"capacity,omitempty"`
	Allocatable map[string]string `json:"allocatable,omitempty"`
	Addresses   []address         `json:"addresses,omitempty"`
	Conditions  []condition       `json:"conditions,omitempty"`
}

type address struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// Names lists the simulated nodes of a configuration.
func Names(config state.Config) []string {
	names := make([]string, 0, config.Nodes)
	for number := range config.Nodes {
		names = append(names, name(config, number))
	}
	return names
}

func name(config state.Config, number int) string {
	return fmt.Sprintf("%s%d", config.NodeNamePrefix, number+1)
}

// Ensure creates the nodes of the configuration that do not exist yet.
func Ensure(ctx context.Context, api *kubeapi.Client, config state.Config) error {
	for number := range config.Nodes {
		created := simulated(config, number)
		err := api.Create(ctx, collection, created, nil)
		if err != nil && !kubeapi.IsConflict(err) {
			return fmt.Errorf("create node %s: %w", created.Metadata.Name, err)
		}
	}
	return nil
}

func simulated(config state.Config, number int) node {
	nodeName := name(config, number)
	return node{
		APIVersion: "v1",
		Kind:       "Node",
		Metadata: metadata{
			Name: nodeName,
			Labels: map[string]string{
				"kubernetes.io/hostname":        nodeName,
				"kubernetes.io/os":              "linux",
				"kubernetes.io/arch":            "amd64",
				"topology.kubernetes.io/region": "local",
				"topology.kubernetes.io/zone":   zones[number%len(zones)],
			},
			Annotations: map[string]string{component.KwokAnnotation: component.KwokValue},
		},
		Status: status{
			Capacity:    config.NodeCapacity,
			Allocatable: config.NodeCapacity,
			Addresses: []address{
				{Type: "Hostname", Address: nodeName},
				{Type: "InternalIP", Address: internalIP(number + 1)},
			},
		},
	}
}

// internalIP gives each node an address of its own, outside of those of pods
// and services. Nothing listens there.
func internalIP(number int) string {
	const perByte = 256
	return netip.AddrFrom4([4]byte{10, byte(128 + number/perByte/perByte), byte(number / perByte), byte(number % perByte)}).String()
}
