// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)   // a second signal ends the process at once
	klog.SetLogger(logr.Discard()) // logs of libraries would appear between the reports
	os.Exit(run(ctx, newRoot()))
}

// run returns the exit code.
func run(ctx context.Context, root *cobra.Command) int {
	const interrupted = 128 + int(syscall.SIGINT)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return interrupted
	default:
		fmt.Fprintln(root.ErrOrStderr(), "Error:", err)
		return 1
	}
}

// where returns the place of the local cluster. It works once the flags are parsed.
type where func() (place, error)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "dev",
		Short:         "Slipway on a local control plane",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	var dir string
	root.PersistentFlags().StringVar(&dir, "dir", "", "directory for the local cluster (default .local in the repository)")
	for _, newCommand := range []func(where) *cobra.Command{newUp, newDown, newDemo, newKubelets} {
		root.AddCommand(newCommand(func() (place, error) { return newPlace(dir) }))
	}
	return root
}
