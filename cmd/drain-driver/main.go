// SPDX-License-Identifier: Apache-2.0

// Command drain-driver is the server-side drain as a standalone lifecycle driver.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/driverkit"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/platform/daemon"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
)

func main() { os.Exit(daemon.Main(newCommand())) }

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "drain-driver",
		Short: "Drain and uncordon a node, as a lifecycle driver",
	}
	daemon.Logging(command)
	command.AddCommand(newPluginCommand())
	return command
}

func newPluginCommand() *cobra.Command {
	var (
		client    daemon.Client
		options   draindriver.Options
		as        = identity.ActAsNode
		addresses addresses
	)
	command := &cobra.Command{
		Use:   "kubelet-plugin",
		Short: "Serve one node over the driver contract",
		Long: `kubelet-plugin registers the drain driver with the agent of Specialized Lifecycle
Management (SLM) on the node: Slipway's node-agent, or a kubelet that supports SLM. Its two
LifecycleTransitions are for all nodes. If they do not exist, it publishes them, if it has
permission; otherwise an administrator applies them, as in config/transitions:

  DRIVER-NAME            drain-started -> drain-complete
  DRIVER-NAME-uncordon   uncordoning   -> maintenance-complete

The names of the transitions replace a slash in DRIVER-NAME by a dot, and underscores by
hyphens. The driver also serves Slipway's own transitions, drain.slm.k8s.io and so on, if
their spec.driver is DRIVER-NAME.`,
		Example: `  # In a pod on the node:
  drain-driver kubelet-plugin --node-name=$(NODE_NAME)

  # Under a kubelet that supports SLM:
  drain-driver kubelet-plugin --node-name=$(NODE_NAME) \
    --datadir=/var/lib/kubelet/plugins \
    --plugin-registration-path=/var/lib/kubelet/plugins_registry`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			self, err := client.Config()
			if err != nil {
				return err
			}
			return run(command.Context(), self, options, as, addresses)
		},
	}
	flags := command.Flags()
	client.AddFlags(flags)
	options.AddFlags(flags)
	flags.StringVar(&options.NodeName, "node-name", "", "name of the node that this instance manages (required)")
	flags.Var(&as, "act-as", identity.ActAsUsage)
	flags.StringVar(&options.Namespace, "namespace", draindriver.DefaultNamespace, "Slipway's own namespace: it contains the DrainRules of the cluster, and its pods leave last")
	flags.StringVar(&options.DataDir, "datadir", driverkit.DefaultDataDir, "directory for the driver's socket")
	flags.StringVar(&options.RegistrationDir, "plugin-registration-path", driverkit.DefaultRegistrationDir, "directory in which the driver registers")
	flags.StringVar(&options.Instance, "instance", "", "name of this process, if two processes of the driver run side by side during an update")
	flags.StringVar(&addresses.health, "health-probe-bind-address", "0", "address of /healthz and /readyz; 0 for none")
	flags.StringVar(&addresses.metrics, "metrics-bind-address", "0", "address of /metrics; 0 for none")
	return command
}
