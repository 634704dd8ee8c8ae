// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var s settings
	flag.IntVar(&s.workers, "workers", 2, "mistakes that are tried at the same time")
	flag.IntVar(&s.sample, "sample", 0, "try so many mistakes of each package only; 0: all")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().Unix()), "which ones these are")
	flag.StringVar(&s.only, "only", "", "try the mistakes of this file only, such as next.go")
	flag.DurationVar(&s.slowest, "slowest", 2*time.Second, "tests that take longer of the processor are not asked")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// settings of a run.
type settings struct {
	workers, sample int
	seed            uint64
	only            string
	slowest         time.Duration
}

func run(ctx context.Context, s settings, packages []string) error {
	if len(packages) == 0 {
		return fmt.Errorf("no packages: name some, such as ./internal/lifecycle/transition")
	}
	explained, err := readEquivalents(equivalents)
	if err != nil {
		return err
	}
	var all []report
	for _, p := range packages {
		r, err := try(ctx, s, p)
		if err != nil {
			return err
		}
		r.explain(explained)
		all = append(all, r)
	}
	return write(os.Stdout, all, s)
}
