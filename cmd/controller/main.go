// SPDX-License-Identifier: Apache-2.0

// Command controller manages the LifecycleEvents of all nodes of a cluster.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/controller"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
	"github.com/slipway-k8s/slipway/internal/platform/daemon"
)

func main() { os.Exit(daemon.Main(newCommand())) }

func newCommand() *cobra.Command {
	var (
		// It sends requests for the whole cluster.
		client  = daemon.Client{QPS: 200, Burst: 400}
		options controller.Options
	)
	command := &cobra.Command{
		Use:   "controller",
		Short: "Manage the LifecycleEvents of a cluster",
		Long: `controller does the work that no node can do itself. It ends the LifecycleEvents of nodes
that do not exist. If the agent of a node is missing or dead, it reports this on the events
(conditions Claimable and Stalled) and ends them after their deadline. It removes the gate
slipway.dev/guards from an event unless a guard objects (condition GuardsPassed): the event
would take out the last schedulable node, or a second node of the control plane at a time,
and does not list this in spec.allow.

A driver serves either one node or all nodes. The place of its registration decides who
claims the events of its transitions:

  with a node-agent        the agent, for its node
  with the controller      the controller, for all nodes

With --builtin-drivers=drain, the controller drains all nodes itself: agents are needed only
for drivers on nodes, and one process has the permission to evict. Third-party drivers
register in --plugin-registration-path. A driver that is registered in both places gets no
events until one of the two is gone.

Run two replicas: the leader works, and the other replica takes over within 15 s after a
crash of the leader, and at once after its termination. It continues the work of its
predecessor.`,
		Example: `  # In a Deployment, with agents on the nodes:
  controller

  # Without agents; keep ended events for an hour:
  controller --builtin-drivers=drain --finished-event-ttl=1h

  # With agents, and a driver for all nodes in another container of the pod:
  controller --plugin-registration-path=/var/lib/slipway/plugins_registry

  # On your own machine, while no other controller runs:
  controller --kubeconfig=$HOME/.kube/config --leader-elect=false`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			self, err := client.Config()
			if err != nil {
				return err
			}
			return controller.Run(command.Context(), self, options)
		},
	}
	daemon.Logging(command)
	flags := command.Flags()
	client.AddFlags(flags)
	flags.StringSliceVar(&options.Builtin, "builtin-drivers", nil, "drivers that run in this process, for all nodes: "+controller.BuiltinDrain+", or none")
	flags.StringVar(&options.RegistrationDir, "plugin-registration-path", "",
		"directory in which third-party drivers for all nodes register (default: only built-in drivers register)")
	flags.StringVar(&options.Namespace, "namespace", draindriver.DefaultNamespace,
		"Slipway's own namespace: it contains the agents' pods, the Lease of the leader and the DrainRules of the cluster")
	flags.BoolVar(&options.LeaderElect, "leader-elect", true, "elect a leader among several controllers; false: run only one controller")
	flags.BoolVar(&options.EvictionRequests, "eviction-requests", false,
		"act on EvictionRequests (KEP-4563), which no controller of Kubernetes does yet; requires the permissions in config/rbac/evictions")
	flags.BoolVar(&options.EvictionController, "eviction-controller", true,
		"with --eviction-requests, merge the requests into Evictions, and evict as the last responder; false where controllers of Kubernetes do both")
	flags.BoolVar(&options.NodeLeases, "node-leases", false,
		"acquire the lease of a node (in namespace kube-node-maintenance) before Slipway takes the node out of service, and hold it until the node returns; "+
			"drains wait for leases of other holders, at the gate slipway.dev/lease; requires the permissions in config/rbac/leases")
	flags.BoolVar(&options.MaintenanceJobs, "maintenance-jobs", false,
		"run Jobs of maintenances on drained nodes, in Slipway's namespace with the suffix -jobs; requires the permissions in config/rbac/jobs")
	flags.BoolVar(&options.StrictGuards, "strict-guards", false,
		"hold drains of the only Node of a cluster at the guard LastSchedulableNode, too; false: that guard only warns there")
	options.Drains.AddFlags(flags)
	flags.StringVar((*string)(&options.Surge), "surge", string(surgecontroller.Labelled),
		"with --eviction-requests, pods of Deployments whose replacement starts first: off; labelled (label slipway.dev/surge=true on "+
			"the pod or its Namespace); blocked (these, and pods whose PodDisruptionBudget can never allow an eviction)")
	flags.DurationVar(&options.FinishedEventTTL, "finished-event-ttl", 0,
		"time for which the controller keeps events after it has ended them")
	flags.StringVar(&options.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", "0", "address of /metrics; 0 for none")
	return command
}
