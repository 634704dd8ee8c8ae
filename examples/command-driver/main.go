// SPDX-License-Identifier: Apache-2.0

// Command-driver is a lifecycle driver that runs a command on the node. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/driverkit"
)

// name is the name of the driver and of its transition.
const name = "command.example.com"

const usage = `A lifecycle driver that runs a command on the node between two states.

It publishes the LifecycleTransition command.example.com (command-started to
command-finished). For each LifecycleEvent of that transition it runs COMMAND:
exit status 0 means finished, any other status fails the event with the last line
of the output. The environment has NODE_NAME, EVENT_NAME, EVENT_UID and PARAMETERS
(JSON). When the event is canceled or its deadline passes, the command gets
SIGTERM, and SIGKILL 5 s later. If the driver restarts in between, it runs the
command again, perhaps while the first one still runs: the command must tolerate
that.

Usage:
  command-driver --node-name NODE [flags] -- COMMAND [ARGUMENT...]

Example:
  command-driver --node-name worker-1 -- sh -c 'echo updating; sleep 5'

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "command-driver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	config := driverkit.Config{DriverName: name}
	flags := flag.NewFlagSet("command-driver", flag.ContinueOnError)
	flags.StringVar(&config.NodeName, "node-name", os.Getenv("NODE_NAME"), "node of the driver (default $NODE_NAME)")
	flags.StringVar(&config.DataDir, "datadir", driverkit.DefaultDataDir, "directory for the driver's socket")
	flags.StringVar(&config.RegistrationDir, "plugin-registration-path", driverkit.DefaultRegistrationDir, "directory that the agent watches")
	flags.StringVar(&config.Instance, "instance", os.Getenv("POD_UID"), "name of this instance, so that two instances can run during an update (default $POD_UID)")
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig file to publish the transition (default: the pod's service account; outside of a pod: do not publish)")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no command given; try --help")
	}
	var err error
	if config.RESTConfig, err = restConfig(*kubeconfig); err != nil {
		return err
	}
	allNodes := true
	config.Transitions = []lifecyclev1alpha1.LifecycleTransition{{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Start: "command-started", End: "command-finished", AllNodes: &allNodes},
	}}
	return driverkit.Serve(ctx, config, driverkit.Background(command(flags.Args()).run))
}

// restConfig returns nil outside of a cluster, without a kubeconfig.
func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, nil
	}
	return config, err
}
