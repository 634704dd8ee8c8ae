// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
)

const nodeLong = `Makes this machine a node of a cluster, beside the simulated ones: a real kubelet,
containerd and runc, with pods that are processes, get signals and take their time
to end. It takes root, and on Debian these packages:

  apt-get install containerd runc containernetworking-plugins iproute2

The kubelet is built from its Go modules the first time, which takes minutes.
One machine is one node. No registry is reached: pods run images that 'node load'
has loaded, with imagePullPolicy: Never or IfNotPresent.

The node has an address of its own on the loopback interface, and each pod a
network namespace with a way to the node and no further. The API server listens on
127.0.0.1, which only pods with hostNetwork reach. Nobody answers DNS or addresses
of Services.

All files are in DIR/nodes/NAME; static pods go to its directory manifests. The
processes are components, which can be taken away and brought back:

  localcluster stop kubelet@NAME --kill --dir DIR
  localcluster start kubelet@NAME --dir DIR

'node remove' and 'down' end every container, and remove what is mounted, the
network, the cgroups and all files, and bring the kernel's settings back that every
kubelet changes.`

const nodeExample = `  localcluster node check                               # can this machine be a node?
  localcluster node add real-1 --dir /tmp/c
  CGO_ENABLED=0 go build -o server ./cmd/server
  localcluster node load real-1 --program server --name local.test/server:1 --dir /tmp/c
  localcluster kubectl --dir /tmp/c -- run s --image local.test/server:1 --image-pull-policy=Never \
    --overrides '{"spec":{"nodeName":"real-1"}}'
  localcluster node remove real-1 --dir /tmp/c`

func newNode(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:     "node COMMAND",
		Short:   "Make this machine a real node of a cluster, with kubelet and containerd",
		Long:    nodeLong,
		Example: nodeExample,
		Args:    cobra.NoArgs,
	}
	command.AddCommand(newNodeCheck(streams), newNodeAdd(streams), newNodeLoad(streams), newNodeRemove(streams))
	return command
}

func newNodeCheck(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say whether this machine can be a node; fails, and says what is missing, if not",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := realnode.Missing(); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(streams.Out, "this machine can be a node")
			return nil
		},
	}
}

func newNodeAdd(streams Streams) *cobra.Command {
	var (
		where         target
		cache, output string
		timeout       time.Duration
	)
	command := &cobra.Command{
		Use:   "add NAME --dir DIR",
		Short: "Make this machine a node, or start what is missing of it, and return when it is ready",
		Long: `Makes this machine a node of the cluster in DIR and returns when pods can run on
it. Where the node is there already, it starts what does not run of it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			dir, err := cacheDir(cache)
			if err != nil {
				return err
			}
			facts, err := opened.AddNode(command.Context(), args[0], cluster.Request{
				Source: localcluster.Node, Cache: dir, Timeout: timeout,
			})
			if err != nil {
				return err
			}
			return printAs(streams.Out, output, facts, func(out io.Writer) { printNode(out, facts) })
		},
	}
	where.addFlags(command)
	addCache(command, &cache)
	addFormat(command, &output)
	const patience = 5 * time.Minute
	command.Flags().DurationVar(&timeout, "timeout", patience, "how long it may take, building aside; it takes about 15s on an idle machine")
	return command
}

func printNode(out io.Writer, facts *cluster.NodeFacts) {
	_, _ = fmt.Fprintf(out, "node %s is ready at %s\n  containerd   %s\n  static pods  %s\n  pods' logs   %s\n",
		facts.Name, facts.Address, facts.Socket, facts.Manifests, facts.PodLogs)
}

var errLoadWhat = errors.New("say what to load: an archive, a directory, or --program with --name")

func newNodeLoad(streams Streams) *cobra.Command {
	var (
		where                 target
		program, name, output string
	)
	command := &cobra.Command{
		Use:   "load NODE [ARCHIVE|DIRECTORY] --dir DIR",
		Short: "Load an image into a node, for pods with imagePullPolicy: Never",
		Long: `Loads the images of an archive ('docker save', or a tar of an OCI layout) or of a
directory with an OCI layout into NODE, and prints their names. With --program, it
makes an image of one static program, which is then in the image's root, and its
entrypoint.`,
		Example: `  localcluster node load real-1 dist/image --name local.test/slipway:1 --dir /tmp/c
  localcluster node load real-1 --program ./server --name local.test/server:1 --dir /tmp/c`,
		Args: cobra.RangeArgs(1, 2), //nolint:mnd // a node, and what to load
		RunE: func(command *cobra.Command, args []string) error {
			node, paths := args[0], args[1:]
			if (len(paths) == 0) == (program == "") || (program != "" && name == "") {
				return errLoadWhat
			}
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			names, err := load(command.Context(), opened, node, paths, program, name)
			if err != nil {
				return err
			}
			result := struct {
				Images []string `json:"images"`
			}{names}
			return printAs(streams.Out, output, result, func(out io.Writer) {
				for _, name := range names {
					_, _ = fmt.Fprintln(out, name)
				}
			})
		},
	}
	where.addFlags(command)
	addFormat(command, &output)
	command.Flags().StringVar(&program, "program", "", "make an image of this static program")
	command.Flags().StringVar(&name, "name", "", "the name of the image, as registry/name:tag; for images that have none")
	return command
}

func load(ctx context.Context, opened *cluster.Cluster, node string, paths []string, program, name string) ([]string, error) {
	if program != "" {
		return opened.LoadProgram(ctx, node, program, name)
	}
	return opened.LoadImage(ctx, node, paths[0], name)
}

func newNodeRemove(streams Streams) *cobra.Command {
	var where target
	command := &cobra.Command{
		Use:   "remove NAME --dir DIR",
		Short: "End a real node and its pods, and remove all that was made for it",
		Long: `Ends the node's programs and its pods, which get no time to end, and removes the
Node and all that was made for it on this machine. Drain it first where pods should
end as they want to.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			return opened.RemoveNode(command.Context(), args[0])
		},
	}
	where.addFlags(command)
	return command
}
