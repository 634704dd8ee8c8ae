// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
)

const nodeLong = `Makes this machine a node of a cluster, beside the simulated ones: a real kubelet,
containerd and runc, with pods that are processes, get signals and take their time
to end. It takes root, and on Debian these packages:

  apt-get install containerd runc containernetworking-plugins iproute2

The first time, the kubelet is built from its Go modules, which takes minutes. One
machine is one node. The node reaches no registry: pods run images that 'node load'
has loaded, with imagePullPolicy: Never or IfNotPresent.

The node has an address of its own on the loopback interface, and each pod a network
namespace with a route to the node and no further. The API server listens on
127.0.0.1, which only pods with hostNetwork reach. There is no DNS, and addresses of
Services lead nowhere.

All files are in DIR/nodes/NAME; its directory manifests is for static pods. The
processes are components, which can be taken away and brought back:

  localcluster stop kubelet@NAME --kill --dir DIR
  localcluster start kubelet@NAME --dir DIR

'node remove' and 'down' end every container, remove mounts, network, cgroups and all
files, and restore the kernel settings that every kubelet changes.`

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
	command.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Report whether this machine can be a node; fails, and lists what is missing, if not",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			err := realnode.Missing()
			if err == nil {
				_, err = fmt.Fprintln(streams.Out, "this machine can be a node")
			}
			return err
		},
	}, newNodeAdd(streams), newNodeLoad(streams), newNodeRemove(streams))
	return command
}

func newNodeAdd(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "add NAME --dir DIR",
		Short: "Make this machine a node, or start what is missing of it, and return when it is ready",
		Long: `Makes this machine a node of the cluster in DIR and returns when pods can run on
it. If the node is there already, it starts those of its programs that do not run.`,
		Args: cobra.ExactArgs(1),
	}
	var request cluster.Request
	addCache(command, &request.Cache)
	const patience = 5 * time.Minute
	command.Flags().DurationVar(&request.Timeout, "timeout", patience, "how long it may take, without building; it takes about 15s on an idle machine")
	format := addOutput(command)
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		facts, err := opened.AddNode(command.Context(), args[0], request)
		if err != nil {
			return err
		}
		return format.write(streams.Out, facts, func(out io.Writer) {
			_, _ = fmt.Fprintf(out, "node %s is ready at %s\n  containerd   %s\n  static pods  %s\n  pods' logs   %s\n",
				facts.Name, facts.Address, facts.Socket, facts.Manifests, facts.PodLogs)
		})
	})
}

var errLoadWhat = errors.New("name the image to load: an archive, a directory, or --program with --name")

func newNodeLoad(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "load NODE [ARCHIVE|DIRECTORY] --dir DIR",
		Short: "Load an image into a node, for pods with imagePullPolicy: Never",
		Long: `Loads the images of an archive ('docker save', or a tar of an OCI layout) or of a
directory with an OCI layout into NODE, and prints their names. With --program, it
makes an image of one static program, which is in the image's root and is its
entrypoint.`,
		Example: `  localcluster node load real-1 dist/image --name local.test/slipway:1 --dir /tmp/c
  localcluster node load real-1 --program ./server --name local.test/server:1 --dir /tmp/c`,
		Args: cobra.RangeArgs(1, 2), //nolint:mnd // a node, and what to load
	}
	program := command.Flags().String("program", "", "make an image of this static program")
	name := command.Flags().String("name", "", "the name of the image, as registry/name:tag; for images without one")
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		path := strings.Join(args[1:], "")
		if (path == "") == (*program == "") || (*program != "" && *name == "") {
			return errLoadWhat
		}
		names, err := opened.LoadImage(command.Context(), args[0], path, *program, *name)
		if err == nil {
			_, err = fmt.Fprintln(streams.Out, strings.Join(names, "\n"))
		}
		return err
	})
}

func newNodeRemove(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "remove NAME --dir DIR",
		Short: "End a real node and its pods, and remove everything that was made for it",
		Long: `Ends the node's programs and its pods, which get no time to end, and removes the
Node and everything that was made for it on this machine. Drain it first where pods
have to end gracefully.`,
		Args: cobra.ExactArgs(1),
	}
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		return opened.RemoveNode(command.Context(), args[0])
	})
}
