// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/contender"
	"github.com/slipway-k8s/slipway/bench/drain/internal/measure"
	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// limit is how long one drain may take, with all that belongs to it: a contender that
// hangs ends the benchmark. A fleet by kubectl takes a quarter of an hour.
const limit = 40 * time.Minute

// run sets up the workload, has it drained, and takes all of it away again. What the
// API server has written down meanwhile is what is measured.
func (b *bench) run(ctx context.Context, d drain) (measure.Run, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took more than %s", limit))
	defer cancel()
	from, err := size(b.stage.AuditLog)
	if err != nil {
		return measure.Run{}, err
	}
	b.count++
	namespace := fmt.Sprintf("bench-%s-%d", d.scenario.Key, b.count)
	apps := d.scenario.Apps(b.settings.seed, d.repetition)
	scene, err := b.stage.Set(ctx, namespace, d.scenario, apps)
	if err != nil {
		return measure.Run{}, err
	}
	who := b.contenders[d.contender]
	times, cpu, err := b.drain(ctx, who, scene, d.scenario.Blocked)
	if err != nil {
		return measure.Run{}, err
	}
	if err := b.clear(ctx, who, scene); err != nil {
		return measure.Run{}, err
	}
	requests, err := b.requestsFrom(from, namespace+"-"+d.contender)
	if err != nil {
		return measure.Run{}, err
	}
	run := measure.Of(requests, measure.Drain{
		Ours: who.Sent, Began: times.Began, Ended: times.Ended, Over: times.Over, Namespace: namespace, Pods: scene.InScope,
	})
	run.Scenario, run.Contender, run.Repetition, run.CPU = d.scenario.Key, d.contender, d.repetition, cpu
	run.Bound = bound(d.scenario, apps).Seconds()
	if d.contender == contender.Slipway {
		run.Broken = auditcheck.Check(requests, auditcheck.Options{})
	}
	return run, nil
}

// bound is what Slipway's time is compared with. Zero: nothing.
func bound(s scenario.Scenario, apps []scenario.App) time.Duration {
	switch {
	case s.Surge:
		return scenario.Bound(apps)
	case s.Fleet > 0:
		return scenario.FleetBound(apps, s.MaxUnavailable)
	default:
		return 0
	}
}

// clear returns the nodes, unless that was done, and takes the workload away.
func (b *bench) clear(ctx context.Context, who contender.Contender, scene *stage.Scene) error {
	if scene.Fleet > 0 {
		return b.stage.Strike(ctx, scene.Namespace)
	}
	return errors.Join(who.Return(ctx, scene.Drained), b.stage.Strike(ctx, scene.Namespace))
}

// drain has the contender drain, and checks that the nodes are empty then.
func (b *bench) drain(ctx context.Context, who contender.Contender, scene *stage.Scene, blocked time.Duration) (contender.Times, measure.CPU, error) {
	before, err := b.usage()
	if err != nil {
		return contender.Times{}, measure.CPU{}, err
	}
	times, err := who.Drain(ctx, scene, blocked)
	if err != nil {
		return times, measure.CPU{}, err
	}
	after, err := b.usage()
	if err == nil && blocked == 0 && scene.Fleet == 0 {
		err = b.stage.Emptied(ctx, scene)
	}
	return times, after.since(before), err
}

func size(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// requestsFrom reads the audit log from an offset on, at which a line begins; and keeps
// what it has read, if the flags say so.
func (b *bench) requestsFrom(offset int64, name string) ([]auditlog.Request, error) {
	file, err := os.Open(b.stage.AuditLog)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	if b.settings.audit == "" {
		return auditlog.Read(file)
	}
	if err := os.MkdirAll(b.settings.audit, 0o750); err != nil {
		return nil, err
	}
	kept, err := os.Create(filepath.Join(b.settings.audit, name+".log"))
	if err != nil {
		return nil, err
	}
	requests, err := auditlog.Read(io.TeeReader(file, kept))
	return requests, errors.Join(err, kept.Close())
}
