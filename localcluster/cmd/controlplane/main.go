// SPDX-License-Identifier: Apache-2.0

// Command controlplane is a whole Kubernetes control plane in one binary:
// etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and
// kwok. It becomes the component it is called by: through a link of that name,
// or through its first argument.
//
//	kube-apiserver --help
//	controlplane kube-apiserver --help
//
// One binary and not six, because they share almost all of their packages: it
// links once and takes a quarter of the space. Each component still runs as a
// separate process.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJobs name time zones

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// components maps the names of this binary to its programs. Each reads os.Args and returns the exit code.
var components = map[string]func() int{
	"kube-apiserver":          apiserver,
	"kube-controller-manager": controllerManager,
	"kube-scheduler":          scheduler,
	"kubectl":                 kubectl,
}

func main() {
	run, found := components[filepath.Base(os.Args[0])]
	if !found && len(os.Args) > 1 {
		if run, found = components[os.Args[1]]; found {
			os.Args = os.Args[1:]
		}
	}
	if !found {
		names := make([]string, 0, len(components))
		for name := range components {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: %s COMPONENT [ARGUMENTS]; the components are %s\n",
			os.Args[0], strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(run())
}
