// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suite is the tests of a package, in a binary with all mistakes.
type suite struct {
	binary, dir string
	left        []string // tests that take too long to be asked
	flags       []string

	mu    sync.Mutex
	tests []test // those that find most, for what they take, first
}

// test is one, and what it does without a mistake.
type test struct {
	name    string
	took    time.Duration // on the processor
	reaches map[int]bool  // mistakes that it comes by
	found   int           // mistakes, until now
}

// worth is how many mistakes it finds for what it takes. Each is given one.
func (t test) worth() float64 { return float64(1+t.found) / (t.took + 10*time.Millisecond).Seconds() }

// newSuite runs each test once, alone. One that fails without a mistake judges nothing.
func newSuite(ctx context.Context, s *source, binary, scratch string, slowest time.Duration, told func(n, of int)) (*suite, error) {
	u := &suite{binary: binary, dir: s.dir, flags: []string{"-test.short", "-test.failfast"}}
	if s.rapid {
		// The same cases each time; that it fails is enough.
		u.flags = append(u.flags, "-rapid.seed=1", "-rapid.shrinktime=1ms", "-rapid.nofailfile")
	}
	list := exec.CommandContext(ctx, binary, "-test.list=.")
	list.Dir = s.dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", s.path, err)
	}
	names := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return strings.HasPrefix(name, "Benchmark") })
	for i, name := range names {
		told(i, len(names))
		t, err := u.trace(ctx, name, filepath.Join(scratch, "trace"))
		if err != nil {
			return nil, err
		}
		switch {
		case len(t.reaches) == 0:
		case t.took > slowest:
			u.left = append(u.left, t.name)
		default:
			u.tests = append(u.tests, t)
		}
	}
	return u, nil
}

func (u *suite) trace(ctx context.Context, name, into string) (test, error) {
	if err := os.Remove(into); err != nil && !errors.Is(err, os.ErrNotExist) {
		return test{}, fmt.Errorf("trace test %s: %w", name, err)
	}
	r := u.run(ctx, []string{name}, time.Hour, "MUTATION_TRACE="+into)
	if r.failed {
		return test{}, fmt.Errorf("run test %s without a mistake: it fails:\n%s", name, r.output)
	}
	t := test{name: name, took: r.took, reaches: map[int]bool{}}
	lines, err := os.ReadFile(into)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return test{}, fmt.Errorf("trace test %s: %w", name, err)
	}
	for line := range strings.FieldsSeq(string(lines)) {
		id, err := strconv.Atoi(line)
		if err != nil {
			return test{}, fmt.Errorf("trace test %s: %w", name, err)
		}
		t.reaches[id] = true
	}
	return t, nil
}

// outcome of a mistake.
type outcome string

const (
	killed     outcome = "killed"
	survived   outcome = "survived"
	notReached outcome = "no test comes by"
)

// quick is how much of the processor the tests that are run first may take together.
const quick = 150 * time.Millisecond

// batch is tests that are run in one process.
type batch struct {
	names []string
	took  time.Duration
}

// judge runs the tests that come by the mistake, until one fails.
func (u *suite) judge(ctx context.Context, id int) outcome {
	batches := u.batches(id)
	if len(batches) == 0 {
		return notReached
	}
	for _, b := range batches {
		if r := u.run(ctx, b.names, b.took, "MUTATION="+strconv.Itoa(id)); r.failed {
			u.credit(r.output)
			return killed
		}
	}
	return survived
}

// batches has the tests that are likely to find the mistake before those that take long.
func (u *suite) batches(id int) []batch {
	u.mu.Lock()
	defer u.mu.Unlock()
	slices.SortStableFunc(u.tests, func(a, b test) int { return cmp.Compare(b.worth(), a.worth()) })
	var batches []batch
	limit := quick
	for _, t := range u.tests {
		if !t.reaches[id] {
			continue
		}
		if n := len(batches); n == 0 || batches[n-1].took+t.took > limit {
			batches = append(batches, batch{})
			limit = max(quick, quick<<(2*n))
		}
		last := &batches[len(batches)-1]
		last.names, last.took = append(last.names, t.name), last.took+t.took
	}
	return batches
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+) `)

// credit notes which test has found a mistake.
func (u *suite) credit(output string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.tests {
		if m := failure.FindStringSubmatch(output); m != nil && m[1] == u.tests[i].name {
			u.tests[i].found++
		}
	}
}

// ran is how a run of tests went.
type ran struct {
	failed bool
	took   time.Duration
	output string
}

// run runs tests that usually take so much of the processor. What takes much more, or more
// memory than there should be need of, fails: a mistake can make a loop endless. The time on
// the clock is long, since machines that do much else are slow.
func (u *suite) run(ctx context.Context, names []string, usual time.Duration, env string) ran {
	limits := fmt.Sprintf(`ulimit -t %d && ulimit -v 6000000 && exec "$0" "$@"`, int((5*usual + 10*time.Second).Seconds()))
	args := append([]string{"-c", limits, u.binary, "-test.run=^(" + strings.Join(names, "|") + ")$", "-test.timeout=10m"}, u.flags...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = u.dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SLIPWAY_") && !strings.HasPrefix(v, "MUTATION") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env)
	err := cmd.Run()
	r := ran{failed: err != nil, output: output.String()}
	if cmd.ProcessState != nil {
		r.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return r
}
