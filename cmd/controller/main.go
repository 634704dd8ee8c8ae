// SPDX-License-Identifier: Apache-2.0

// Command controller does for a cluster's nodes what they cannot do for themselves.
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
		// It asks for the whole cluster.
		client  = daemon.Client{QPS: 200, Burst: 400}
		options controller.Options
		mode    string
		scope   string
	)
	command := &cobra.Command{
		Use:   "controller",
		Short: "Look after the LifecycleEvents of a cluster",
		Long: `controller does what no node can do for itself. It ends the LifecycleEvents of nodes that
do not exist, says so on those of nodes whose agent is missing or dead (conditions
Claimable and Stalled) and ends them after their deadline, and lets pass the events that
wait at the gate slipway.dev/guards when nothing is against it: they do not take out the
last node that pods can go to, nor a second node of the control plane at a time, or list
that in spec.allow (condition GuardsPassed).

A cluster runs in one claim mode:

  node      the node-agent on each node claims the events of its node, and drains it
  central   the controller claims the events of all nodes, and drains them itself: no
            DaemonSet is needed, and the rights to evict are in one place

Run two of it: one is the leader and works, the other takes over within 15 s when the
leader dies, and at once when it is ended. What the one has begun, the other goes on with.`,
		Example: `  # In a Deployment, with agents on the nodes:
  controller

  # Without agents, and events kept for an hour to look at after they have ended:
  controller --claim-mode=central --finished-event-ttl=1h

  # On one's own machine, while nobody else runs:
  controller --kubeconfig=$HOME/.kube/config --leader-elect=false`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.ClaimMode, options.Surge = controller.ClaimMode(mode), surgecontroller.Scope(scope)
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
	flags.StringVar(&mode, "claim-mode", string(controller.ClaimByNode), "who claims events: node (the agents) or central (the controller)")
	flags.StringVar(&options.Namespace, "namespace", draindriver.DefaultNamespace,
		"Slipway's own namespace: the agents' pods, the Lease of the leader and the DrainRules of the cluster are in it")
	flags.BoolVar(&options.LeaderElect, "leader-elect", true, "of several controllers, let one work; without it, run one only")
	flags.BoolVar(&options.EvictionRequests, "eviction-requests", false,
		"do what EvictionRequests (KEP-4563) ask for, which no controller of Kubernetes does yet; needs the rights in config/rbac/evictions")
	flags.BoolVar(&options.NodeLeases, "node-leases", false,
		"take the lease of a node (in namespace kube-node-maintenance) before Slipway takes the node out, and hold it until it is back; drains wait for "+
			"leases of others, at the gate slipway.dev/lease; needs the rights in config/rbac/leases")
	flags.StringVar(&scope, "surge", string(surgecontroller.Labelled),
		"with --eviction-requests, for which pods of Deployments a replacement is started first: off; labelled (label slipway.dev/surge=true on "+
			"the pod or its Namespace); blocked (these, and pods whose budget can never allow an eviction)")
	flags.DurationVar(&options.FinishedEventTTL, "finished-event-ttl", 0,
		"how long events that the controller ends are kept: in central mode, all of them")
	flags.StringVar(&options.SocketDir, "socket-dir", "",
		"directory for the sockets of the drain driver in central mode, which this process alone uses (default: that of temporary files)")
	flags.StringVar(&options.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", "0", "address of /metrics; 0 for none")
	return command
}
