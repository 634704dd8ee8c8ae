// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
)

func newUp(streams Streams) *cobra.Command {
	var (
		where  target
		what   settings
		output string
	)
	command := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Start a cluster, or what is missing of it, and return when it is ready",
		Long: `Starts the cluster in DIR and returns when it is ready: the API server, the
controller-manager, the scheduler and kwok say that they are well, all nodes are
ready, and pods can be created.

On a cluster that runs, it only says so; where components are missing, it starts
those. Settings that are not given stay as they were; settings of the control
plane cannot change while it runs.

etcd runs with --unsafe-no-fsync: what it stores survives the end of every
process, but not a power failure.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			request, err := what.request(command)
			if err != nil {
				return err
			}
			facts, err := opened.Up(command.Context(), request)
			if err != nil {
				return err
			}
			return printAs(streams.Out, output, facts, func(out io.Writer) { printReady(out, facts) })
		},
	}
	where.addFlags(command)
	what.addFlags(command)
	addFormat(command, &output)
	return command
}

func printReady(out io.Writer, facts *cluster.Facts) {
	printFacts(out, facts)
	_, _ = fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", facts.Kubeconfig)
}
