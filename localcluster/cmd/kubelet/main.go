// SPDX-License-Identifier: Apache-2.0

// Command kubelet is Kubernetes' own kubelet, built from the same modules as the control plane. It is a separate
// program and not one more name of controlplane: the launcher builds it only for real nodes.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
