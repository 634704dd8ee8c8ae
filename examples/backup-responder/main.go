// SPDX-License-Identifier: Apache-2.0

// Backup-responder takes a backup of a pod before its eviction. See
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

const usage = `A responder of Kubernetes' Eviction API that runs a command before the eviction of a pod.

It runs COMMAND when it is active in an Eviction of a pod that names it in
spec.evictionResponders. It replaces {namespace}, {pod} and {uid} in the
arguments by the values of the pod. After the end of the command, the next
responder becomes active, also after a failure. When the eviction is canceled,
the command gets SIGTERM, and SIGKILL 30 s later. If the responder restarts in
between, it runs the command again: the command must tolerate that.

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
	flags.StringVar(&config.Name, "name", "backup.example.com/command", "name of the responder, as in spec.evictionResponders[].name of pods")
	flags.StringVar(&config.Namespace, "namespace", "", "namespace of the pods to back up (default all)")
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig file (default: the pod's service account)")
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
