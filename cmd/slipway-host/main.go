// SPDX-License-Identifier: Apache-2.0

// Command slipway-host delays the shutdown of a machine until its node is drained.
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
		Short: "Delay the shutdown of a machine until its node is drained",
		Long: `slipway-host holds a lock of systemd-logind that delays shutdowns of the machine. When a
shutdown begins, it records this on the Node, as the node. Slipway's controller then
requests the drain. When the pods have left, or logind's limit is reached
(InhibitDelayMaxSec), the machine shuts down. After the boot, the controller returns the
node to service.

logind releases a lock when no process holds it open. "slipway-host keep" also holds it
open: then slipway-host may restart during a shutdown, and so may "slipway-host keep".

With --static-pods, it also moves the manifests of static pods out of the kubelet's folder
when a drain requests this and all other pods have left, and moves them back when the
node returns. In between they are in its subfolder .slipway, under their own names.

It needs a service account token that is bound to a pod on the node, and Kubernetes 1.36
or newer (constrained impersonation).`,
		Example: `  # In two containers of a pod, on each node, with a shared directory:
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
	flags.StringVar(&options.Keeper, "keeper", "", "socket of slipway-host keep, which also holds the lock; empty: a crash of this process releases the machine")
	flags.StringVar(&options.BootIDFile, "boot-id-file", holder.DefaultBootIDFile, "file with the boot ID of the machine, as its kubelet reports it")
	flags.StringVar(&options.StaticPods, "static-pods", "", "folder from which the kubelet reads static pods (its staticPodPath): slipway-host moves their manifests aside for drains that request it; empty: never")
	flags.BoolVar(&options.ControlPlane, "control-plane-static-pods", false, "also move the manifests of the control plane aside: the machine then has no API server and no etcd member")
	flags.StringVar(&options.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", "0", "address of /metrics; 0 for none")
	return command
}

func newKeepCommand() *cobra.Command {
	var socket string
	command := &cobra.Command{
		Use:   "keep",
		Short: "Keep the lock open beside slipway-host",
		Long: `keep holds the lock of logind that slipway-host has acquired, until slipway-host releases
the machine. It communicates only with slipway-host, and needs no permissions.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if socket == "" {
				return errors.New("--keeper is required")
			}
			return keeper.Serve(command.Context(), socket)
		},
	}
	command.Flags().StringVar(&socket, "keeper", "", "socket for slipway-host (required)")
	return command
}
