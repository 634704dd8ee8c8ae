// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func newKubeconfig(streams Streams) *cobra.Command {
	var where target
	command := &cobra.Command{
		Use:   "kubeconfig --dir DIR",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			facts, err := existing(command, where, streams)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(streams.Out, facts.Kubeconfig)
			return err
		},
	}
	where.addFlags(command)
	return command
}

func newKubectl(streams Streams) *cobra.Command {
	var where target
	command := &cobra.Command{
		Use:   "kubectl --dir DIR -- ARGUMENTS",
		Short: "Run kubectl against a cluster, as its administrator",
		RunE: func(command *cobra.Command, args []string) error {
			facts, err := existing(command, where, streams)
			if err != nil {
				return err
			}
			kubectl := exec.CommandContext(command.Context(), facts.Kubectl, args...)
			kubectl.Env = append(os.Environ(), "KUBECONFIG="+facts.Kubeconfig)
			kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = streams.In, streams.Out, streams.Err
			return ofCommand(kubectl.Run())
		},
	}
	where.addFlags(command)
	return command
}

// existing returns the facts of a cluster that has to exist.
func existing(command *cobra.Command, where target, streams Streams) (*cluster.Facts, error) {
	opened, err := where.open(streams)
	if err != nil {
		return nil, err
	}
	facts, err := opened.Status(command.Context())
	if err == nil && facts.State == cluster.Absent {
		err = fmt.Errorf("%s: %w", facts.Dir, state.ErrNone)
	}
	return facts, err
}
