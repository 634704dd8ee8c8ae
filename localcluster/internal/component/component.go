// SPDX-License-Identifier: Apache-2.0

// Package component knows the programs of a control plane: with which arguments
// each is started, in which order, and how to ask whether it is well. It starts
// nothing.
//
//	settings ─▶ Etcd, APIServer, … ─▶ Component{name, arguments, health}
package component

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// The names of the components, which are also those of their programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// etcdPeer is the port on which etcd would listen to other members.
const etcdPeer = "etcd-peer"

// Component is a program, ready to be started.
type Component struct {
	Name string
	// Program is the path of what is started, or its name, to be found in PATH; empty for
	// the one in the directory of binaries that is called as the component.
	Program string
	Args    []string
	Health  Health
}

// Settings is what the arguments depend on.
type Settings struct {
	Dir    layout.Dir
	Config state.Config
	// Ports by PortNames.
	Ports map[string]int
	// Stages are the files that tell kwok how nodes and pods behave.
	Stages []string
}

// builders in the order in which the components need each other.
var builders = []struct {
	name  string
	ports []string
	build func(Settings) Component
}{
	{Etcd, []string{Etcd, etcdPeer}, buildEtcd},
	{APIServer, []string{APIServer}, buildAPIServer},
	{ControllerManager, []string{ControllerManager}, buildControllerManager},
	{Scheduler, []string{Scheduler}, buildScheduler},
	{Kwok, []string{Kwok}, buildKwok},
}

// Names lists the components in the order in which they are started.
func Names() []string {
	names := make([]string, 0, len(builders))
	for _, builder := range builders {
		names = append(names, builder.name)
	}
	return names
}

// PortNames lists the keys of Settings.Ports that a component listens on.
func PortNames(name string) []string {
	for _, builder := range builders {
		if builder.name == name {
			return builder.ports
		}
	}
	return nil
}

// Build returns the component of that name, or false if there is none.
func Build(name string, settings Settings) (Component, bool) {
	for _, builder := range builders {
		if builder.name == name {
			built := builder.build(settings)
			built.Name = name
			for _, extra := range settings.Config.ExtraArgs[name] {
				built.Args = append(built.Args, "--"+extra)
			}
			return built, true
		}
	}
	return Component{}, false
}

// Server is the API server's URL.
func (s Settings) Server() string { return s.url("https", APIServer) }

func (s Settings) url(scheme, port string) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, s.Ports[port])
}

// kubernetesArgs are common to all components of Kubernetes itself.
func (s Settings) kubernetesArgs() []string {
	if len(s.Config.FeatureGates) == 0 {
		return nil
	}
	return []string{"--feature-gates=" + joinMap(s.Config.FeatureGates)}
}

// joinMap writes a map as flags take it, in an order that does not change.
func joinMap(values map[string]string) string {
	pairs := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, key+"="+values[key])
	}
	return strings.Join(pairs, ",")
}
