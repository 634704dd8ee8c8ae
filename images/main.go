// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

const usage = "usage: images build [--source DIR] [--out DIR], or images push [--out DIR] REPOSITORY:TAG"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("images "+args[0], flag.ContinueOnError)
	source := flags.String("source", "..", "the repository")
	out := flags.String("out", "../dist", "where the layout and the lists of modules go")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "build" && flags.NArg() == 0:
		release, err := releaseOf(ctx, *source)
		if err != nil {
			return err
		}
		digest, err := build(ctx, release, *out)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, digest)
		return nil
	case args[0] == "push" && flags.NArg() == 1:
		digest, err := push(ctx, *out, flags.Arg(0))
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, digest)
		return nil
	default:
		return errors.New(usage)
	}
}
