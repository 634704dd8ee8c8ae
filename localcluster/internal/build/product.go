// SPDX-License-Identifier: Apache-2.0

package build

// product is what is built from one source and kept in one entry of the cache.
type product struct {
	// name is for people.
	name     string
	programs []program
	// links are more names for the first program.
	links []string
	// stages: the files for kwok belong to it.
	stages bool
}

// program is one binary.
type program struct {
	name, mainPackage string
	// static: it needs no file beside it, and so can be alone in an image.
	static bool
}

var controlPlane = product{
	name:     "the control plane",
	programs: []program{{name: "controlplane", mainPackage: "./cmd/controlplane"}},
	links:    []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"},
	stages:   true,
}

var nodePrograms = product{
	name: "the kubelet",
	programs: []program{
		{name: "pause", mainPackage: "./cmd/pause", static: true},
		{name: "kubelet", mainPackage: "./cmd/kubelet"},
	},
}

// files are the names in the directory of binaries.
func (p product) files() []string {
	var names []string
	for _, built := range p.programs {
		names = append(names, built.name)
	}
	return append(names, p.links...)
}
