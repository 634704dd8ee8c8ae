// SPDX-License-Identifier: Apache-2.0

// Command node-agent plays the kubelet's part of Specialized Lifecycle Management on
// one node.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/driverkit"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/platform/daemon"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

func main() { os.Exit(daemon.Main(newCommand())) }

func newCommand() *cobra.Command {
	var (
		client    daemon.Client
		options   = agent.Options{ActAs: identity.ActAsNode}
		builtin   []string
		drains    draindriver.Settings
		namespace string
	)
	command := &cobra.Command{
		Use:   "node-agent",
		Short: "Process the LifecycleEvents of one node",
		Long: `node-agent claims the LifecycleEvents of one node, calls the lifecycle drivers that
are registered on it, and reports on the events and the Node. A future kubelet may play
this part of Specialized Lifecycle Management (SLM).

Drivers register over unix sockets in --plugin-registration-path, like plugins of a
kubelet. The kubelet's directory may be among the paths: the agent registers only the
lifecycle drivers there. The drain driver is built in: it runs in this process, without a
socket (--builtin-drivers=drain).

It needs a service account token that is bound to a pod on the node. For pods and for
the Node, it acts as the node (constrained impersonation, Kubernetes 1.36 or newer). With
--act-as=self, it uses its own permissions for all nodes, which is weaker. At its start it
reports missing permissions.`,
		Example: `  # In a pod of a DaemonSet:
  node-agent --node-name=$(NODE_NAME) --builtin-drivers=drain

  # With third-party drivers only; keep ended events for an hour:
  node-agent --node-name=$(NODE_NAME) --builtin-drivers= --finished-event-ttl=1h`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if options.NodeName == "" {
				return fmt.Errorf("--node-name is required")
			}
			if err := drains.Validate(); err != nil {
				return err
			}
			self, err := client.Config()
			if err != nil {
				return err
			}
			for _, name := range builtin {
				driver, err := builtinDriver(name, self, options, drains, namespace)
				if err != nil {
					return err
				}
				options.Builtin = append(options.Builtin, driver)
			}
			return agent.Run(command.Context(), self, options)
		},
	}
	daemon.Logging(command)
	flags := command.Flags()
	client.AddFlags(flags)
	flags.StringVar(&options.NodeName, "node-name", "", "name of the agent's node (required)")
	flags.StringSliceVar(&options.RegistrationDirs, "plugin-registration-path", []string{driverkit.DefaultRegistrationDir},
		"directories in which third-party drivers register, each in a folder with its name; none: only built-in drivers work")
	flags.StringVar(&namespace, "namespace", draindriver.DefaultNamespace,
		"Slipway's own namespace: it contains the DrainRules of the cluster, and its pods leave last")
	flags.StringSliceVar(&builtin, "builtin-drivers", []string{"drain"}, "drivers that run in this process: drain, or none")
	drains.AddFlags(flags)
	flags.Var(&options.ActAs, "act-as", identity.ActAsUsage)
	flags.DurationVar(&options.FinishedEventTTL, "finished-event-ttl", 0, "time for which the agent keeps ended events")
	flags.StringVar(&options.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", "0", "address of /metrics; 0 for none")
	return command
}

func builtinDriver(name string, self *rest.Config, options agent.Options, drains draindriver.Settings, namespace string) (agent.Builtin, error) {
	if name != "drain" {
		return agent.Builtin{}, fmt.Errorf("--builtin-drivers: unknown driver %q; known: drain", name)
	}
	return agent.Builtin{Name: drains.DriverName, Serve: func(ctx context.Context, at net.Listener, asNode *rest.Config, observer *telemetry.Drains) error {
		return draindriver.Serve(ctx, self, draindriver.Options{
			Settings: drains, BuiltIn: true, NodeName: options.NodeName, AsNode: asNode, Namespace: namespace,
			Listener: at, Observer: observer,
		})
	}}, nil
}
