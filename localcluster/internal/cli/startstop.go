// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
)

func newStop(streams Streams) *cobra.Command {
	var (
		where target
		kill  bool
	)
	command := &cobra.Command{
		Use:   "stop COMPONENT|NAMESPACE/POD --dir DIR",
		Short: "Stop one component, or the process of one pod; the rest goes on",
		Long: fmt.Sprintf(`Stops one component and returns when it has ended, so that a test sees what the
others do without it. The components are %s. What has a
slash in it is a pod: the process that 'localcluster pod' started for it.`, strings.Join(component.Names(), ", ")),
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			if namespace, name, isPod := strings.Cut(args[0], "/"); isPod {
				return opened.StopPod(command.Context(), namespace, name, kill)
			}
			return opened.Stop(command.Context(), args[0], kill)
		},
		ValidArgs: component.Names(),
	}
	where.addFlags(command)
	command.Flags().BoolVar(&kill, "kill", false, "kill it, as a crash would, instead of asking it to end")
	return command
}

func newStart(streams Streams) *cobra.Command {
	var (
		where target
		what  settings
	)
	command := &cobra.Command{
		Use:   "start COMPONENT --dir DIR",
		Short: "Start one component again and return when it is well",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			request, err := what.request(command)
			if err != nil {
				return err
			}
			return opened.Start(command.Context(), args[0], request)
		},
		ValidArgs: component.Names(),
	}
	where.addFlags(command)
	addCache(command, &what.cache)
	what.addTimeout(command)
	return command
}
