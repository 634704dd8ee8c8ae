// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// try judges the tests of one package.
func try(ctx context.Context, s settings, pattern string) (report, error) {
	scratch, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return report{}, fmt.Errorf("try %s: %w", pattern, err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	source, err := load(ctx, pattern)
	if err != nil {
		return report{}, err
	}
	r := report{pattern: pattern}
	if r.coverage, err = coverage(ctx, source.path, filepath.Join(scratch, "coverage")); err != nil {
		return report{}, err
	}
	texts, mutants := mutate(source)
	r.found = len(mutants)
	mutants = chosen(s, mutants)
	progress := func(what string, n, of int) {
		fmt.Fprintf(os.Stderr, "mutation: %s: %s %d of %d\n", pattern, what, n, of)
	}
	progress("compile mistakes,", len(mutants), r.found)
	binary, err := build(ctx, source, texts, scratch)
	if err != nil {
		return report{}, err
	}
	suite, err := newSuite(ctx, source, binary, scratch, s.slowest, func(n, of int) {
		if n == 0 {
			progress("see where each test goes,", n+1, of)
		}
	})
	if err != nil {
		return report{}, err
	}
	r.left = suite.left
	r.results = suite.judgeAll(ctx, s.workers, mutants, func(n int) {
		if n%100 == 0 || n == len(mutants) {
			progress("mistake", n, len(mutants))
		}
	})
	return r, ctx.Err()
}

// chosen are the mistakes that are tried.
func chosen(s settings, all []mutant) []mutant {
	if s.only != "" {
		all = slices.DeleteFunc(all, func(m mutant) bool { return filepath.Base(m.at.Filename) != s.only })
	}
	if s.sample == 0 || s.sample >= len(all) {
		return all
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	some := make([]mutant, 0, s.sample)
	for _, i := range random.Perm(len(all))[:s.sample] {
		some = append(some, all[i])
	}
	slices.SortFunc(some, func(a, b mutant) int { return a.id - b.id })
	return some
}

// result is what became of a mistake.
type result struct {
	mutant
	outcome outcome
	reason  string // why no test can see it
}

func (u *suite) judgeAll(ctx context.Context, workers int, mutants []mutant, told func(n int)) []result {
	results := make([]result, len(mutants))
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(mutants) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				results[i] = result{mutant: mutants[i], outcome: u.judge(ctx, mutants[i].id)}
				told(int(done.Add(1)))
			}
		})
	}
	group.Wait()
	return results
}

var percent = regexp.MustCompile(`coverage: ([0-9.]+)% of statements`)

// coverage is how much of the package its own tests come by, in per cent of statements.
func coverage(ctx context.Context, path, profile string) (float64, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-vet=off", "-coverprofile", profile, path)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return len(v) > 8 && v[:8] == "SLIPWAY_" })
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("test %s: %w\n%s", path, err, out)
	}
	match := percent.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("test %s: it does not say what is covered:\n%s", path, out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}
