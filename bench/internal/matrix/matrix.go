// SPDX-License-Identifier: Apache-2.0

// Package matrix tests each capability of Slipway on each supported minor version of Kubernetes.
package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// capability is a row of the table.
type capability struct {
	name string
	// packages are the packages of its tests; run selects tests of them, and skip leaves out some of these.
	packages  []string
	run, skip string
	// upgrade means that the tests begin on the previous version of the table, and upgrade the control plane.
	upgrade bool
	// since is the first minor version with everything that it requires. Empty: all.
	since string
}

// mutating is the first version with mutating admission policies and constrained impersonation.
const mutating = "v1.36"

var capabilities = []capability{
	{
		name: "drain and return of nodes, cancellation, crashes, deadlines", packages: []string{"./test/walk"},
		run: "TestANodeIsDrained|TestASecondDrain|TestAPodThatEndsSlowly|TestADrainOutlives|TestDeletingAClaimed|TestADrainStopsAtItsDeadline",
	},
	{name: "invalid objects are rejected", packages: []string{"./test/walk"}, run: "TestTheAPIServer"},
	{
		name: "PodDisruptionBudgets, priorities, DrainRules, volumes", packages: []string{"./drain"},
		run: "Budget|Priorit|TestTargets|TestRules|TestTheServerDecides|TestTheEndWaits|TestPodsThatComeBack",
	},
	{
		name: "EvictionRequests and responders", packages: []string{"./test/evictions", "./test/responders"},
		run: "TestEvictions|TestResponders", skip: "/built_in|/served/built_in",
	},
	{name: "EvictionRequests where Kubernetes serves their kinds", packages: []string{"./test/evictions"}, run: "TestEvictions/built_in", since: "v1.37"},
	{name: "NodeMaintenances", packages: []string{"./test/maintenance"}, run: "TestAFleetZoneByZone|TestEnds|TestNodesWhosePodsShare"},
	{name: "drains in `lifecycle.k8s.io`", packages: []string{"./test/homes"}, run: "TestTheFilesAndCommands/as_they_stand"},
	{name: "drains in `slm.slipway.dev`, where Kubernetes serves `lifecycle.k8s.io`", packages: []string{"./test/homes"}, run: "TestTheFilesAndCommands/on_a_server", since: "v1.37"},
	{name: "upgrade of the control plane from the version to the left, during a drain", packages: []string{"./test/update"}, run: "TestKubernetesIsUpgraded", upgrade: true},
	{name: "agents without constrained impersonation (`--act-as=self`)", packages: []string{"./test/reduced"}},
	{name: "a stolen token of an agent drains no other node", packages: []string{"./test/attack"}, run: "TestWhatAStolenToken|TestADriver|TestWhoRefused", since: mutating},
	{name: "guards", packages: []string{"./test/central"}, run: "TestTheLastNode|TestOneNodeOfTheControlPlane", since: mutating},
	{name: "node leases", packages: []string{"./test/leases"}, run: "TestADrainWaits", since: mutating},
	{name: "maintenance of DaemonSets", packages: []string{"./test/maintenance"}, run: "TestPodsOfDaemonSetsStayAway", since: mutating},
	{name: "surge of single replicas", packages: []string{"./test/surge"}, run: "TestSurge", skip: "/built_in"},
}

// atATime is the number of versions on which a capability is tested at a time: its tests wait more than they compute.
const atATime = 2

// Settings of a run.
type Settings struct {
	// Versions of Kubernetes, such as v1.35.4.
	Versions []string
	// Only selects capabilities whose names contain it. Empty: all.
	Only string
	// Logs is the directory for the output of the tests.
	Logs string
	// Launcher is the path of localcluster.
	Launcher string
}

// Run tests the capabilities, and returns the table and an error for each failed test.
func Run(ctx context.Context, s Settings, p *testbed.Progress) (markdown string, err error) {
	if err := os.MkdirAll(s.Logs, 0o750); err != nil {
		return "", fmt.Errorf("make the directory of the logs: %w", err)
	}
	for _, version := range s.Versions {
		if !semver.IsValid(version) {
			return "", fmt.Errorf("%q is not a version of Kubernetes, such as v1.35.4", version)
		}
	}
	table := report.NewTable(append([]string{"capability"}, s.Versions...)...)
	var errs []error
	for i, c := range capabilities {
		if !strings.Contains(c.name, s.Only) {
			continue
		}
		row, failed := make([]string, len(s.Versions)), make([]error, len(s.Versions))
		var tests errgroup.Group
		tests.SetLimit(atATime)
		for v, version := range s.Versions {
			if row[v] = c.unavailable(v, version); row[v] != "" {
				continue
			}
			tests.Go(func() error {
				began, log := p.Elapsed(), filepath.Join(s.Logs, fmt.Sprintf("%s-%d.log", version, i+1))
				err := c.test(ctx, s.environment(c, v), log)
				row[v] = verdict(err)
				p.Printf("%s on %s: %s, %.0f s", c.name, version, row[v], (p.Elapsed() - began).Seconds())
				if err != nil {
					failed[v] = fmt.Errorf("%s on %s: %w, see %s", c.name, version, err, log)
				}
				return nil
			})
		}
		_ = tests.Wait()
		errs = append(errs, failed...)
		table.Row(append([]string{c.name}, row...)...)
	}
	return fmt.Sprintf("%s\nTested on %s, each capability once.\n", table, time.Now().UTC().Format(time.DateOnly)), errors.Join(errs...)
}

// unavailable returns the reason for which the capability is not tested on the v-th version; empty: it is tested.
func (c capability) unavailable(v int, version string) string {
	switch {
	case semver.Compare(version, c.since) < 0:
		return "requires " + strings.TrimPrefix(c.since, "v")
	case c.upgrade && v == 0:
		return "–"
	default:
		return ""
	}
}

// environment returns the environment of the tests of a capability on the v-th version.
func (s Settings) environment(c capability, v int) []string {
	launcher := "SLIPWAY_LOCALCLUSTER=" + s.Launcher
	if c.upgrade {
		return []string{launcher, "SLIPWAY_LOCALCLUSTER_KUBERNETES=" + s.Versions[v-1], "SLIPWAY_UPGRADE_TO=" + s.Versions[v]}
	}
	return []string{launcher, "SLIPWAY_LOCALCLUSTER_KUBERNETES=" + s.Versions[v]}
}

func verdict(err error) string {
	if err != nil {
		return "**fails**"
	}
	return "tested"
}

// test runs the tests of a capability on clusters of that version, with the race detector.
func (c capability) test(ctx context.Context, environment []string, log string) error {
	out, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("create the log: %w", err)
	}
	arguments := append([]string{"test", "-race", "-count=1", "-p=1", "-timeout=20m", "-v", "-run=" + c.run, "-skip=" + c.skip}, c.packages...)
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = out, out
	return errors.Join(command.Run(), out.Close())
}
