// SPDX-License-Identifier: Apache-2.0

// Command localcluster runs a real Kubernetes control plane with simulated nodes
// on this machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/slipway-k8s/slipway/localcluster/internal/cli"
)

func main() {
	os.Exit(run())
}

func run() int {
	// A reader of our output that goes away must not end us before the cluster is
	// taken down. Caught and not ignored: what we start would inherit the latter.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Execute(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
