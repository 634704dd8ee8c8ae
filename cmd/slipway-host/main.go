// SPDX-License-Identifier: Apache-2.0

// Command slipway-host holds the shutdown of a machine until its node is drained.
package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/host/holder"
	"github.com/slipway-k8s/slipway/internal/host/keeper"
	"github.com/slipway-k8s/slipway/internal/host/logind"
	"github.com/slipway-k8s/slipway/internal/platform/daemon"
)

func main() { os.Exit(daemon.Main(newCommand())) }

func newCommand() *cobra.Command {
	var (
		client  daemon.Client
		options holder.Options
	)
	command := &cobra.Command{
		Use:   "slipway-host",
		Short: "Hold the shutdown of a machine until its node is drained",
		Long: `slipway-host has a lock of systemd-logind that delays shutdowns of the machine. When one
begins, it says so on the Node, as the node; Slipway's controller then asks for the drain.
When the pods are gone, or logind waits no longer (InhibitDelayMaxSec), the machine goes
down. When it has booted again, the controller returns the node.

logind counts a lock as given back when no process has it open any more. Beside
slipway-host, "slipway-host keep" has it open too: then neither of the two may be missed
in the middle of a shutdown.

With --static-pods, it also takes the manifests of static pods out of the kubelet's folder
when a drain is asked for them and all other pods have left, and puts them back when the
node returns. Meanwhile they are in the folder .slipway there, under their own names.

It needs a service account token that is bound to a pod on the node, and Kubernetes 1.36
or newer (constrained impersonation).`,
		Example: `  # In two containers of a pod, on each node, with a directory in common:
  slipway-host keep --keeper=/run/slipway/keeper
  slipway-host --node-name=$(NODE_NAME) --keeper=/run/slipway/keeper`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if options.NodeName == "" {
				return errors.New("--node-name is required")
			}
			self, err := client.Config()
			if err != nil {
				return err
			}
			return holder.Run(command.Context(), self, options)
		},
	}
	daemon.Logging(command)
	command.AddCommand(newKeepCommand())
	flags := command.Flags()
	client.AddFlags(flags)
	flags.StringVar(&options.NodeName, "node-name", "", "name of the node of this machine (required)")
	flags.StringVar(&options.Bus, "system-bus", logind.DefaultBus, "socket of the machine's D-Bus system bus")
	flags.StringVar(&options.Keeper, "keeper", "", "socket of slipway-host keep, which keeps the lock besides; without it, who kills this process lets the machine go")
	flags.StringVar(&options.BootIDFile, "boot-id-file", holder.DefaultBootIDFile, "file with the boot ID of the machine, as its kubelet reports it")
	flags.StringVar(&options.StaticPods, "static-pods", "", "folder from which the kubelet reads static pods (its staticPodPath): their manifests are taken away for drains that ask for it; empty: never")
	flags.BoolVar(&options.ControlPlane, "control-plane-static-pods", false, "take those of the control plane away, too: without them the machine has no API server of its own, and no etcd member")
	flags.StringVar(&options.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", "0", "address of /metrics; 0 for none")
	return command
}

func newKeepCommand() *cobra.Command {
	var socket string
	command := &cobra.Command{
		Use:   "keep",
		Short: "Keep the lock open beside slipway-host",
		Long: `keep keeps the lock of logind that slipway-host has taken, until slipway-host lets the
machine go. It speaks with nobody else, and needs no rights.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if socket == "" {
				return errors.New("--keeper is required")
			}
			return keeper.Serve(command.Context(), socket)
		},
	}
	command.Flags().StringVar(&socket, "keeper", "", "socket on which slipway-host finds it (required)")
	return command
}
