// SPDX-License-Identifier: Apache-2.0

// Backup-responder takes a backup of a pod before the pod goes. See
// docs/how-to/write-a-responder.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-k8s/slipway/responderkit"
)

const usage = `A responder of Kubernetes' Eviction API that runs a command before a pod goes.

It runs COMMAND when it is its turn in an Eviction of a pod that names it in
spec.evictionResponders. In the arguments, {namespace}, {pod} and {uid} stand
for those of the pod. When the command has ended, the next responder has its
turn, also if it has failed. When the eviction is canceled, the command gets
SIGTERM, and SIGKILL 30 s later. If the responder restarts in between, the
command is run again: it must bear that.

Usage:
  backup-responder [flags] -- COMMAND [ARGUMENT...]

Example:
  backup-responder -- kubectl exec -n {namespace} {pod} -- pg_dump -f /backup/{uid}

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "backup-responder:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var config responderkit.Config
	flags := flag.NewFlagSet("backup-responder", flag.ContinueOnError)
	flags.StringVar(&config.Name, "name", "backup.example.com/command", "what pods have in spec.evictionResponders[].name")
	flags.StringVar(&config.Namespace, "namespace", "", "whose pods to back up (default all)")
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server (default: the pod's service account)")
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
	if config.RESTConfig, err = clientcmd.BuildConfigFromFlags("", *kubeconfig); err != nil {
		return err
	}
	return responderkit.Serve(ctx, config, command(flags.Args()).backUp)
}
