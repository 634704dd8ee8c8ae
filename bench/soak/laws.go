// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/slipway-k8s/slipway/bench/internal/fit"
	"github.com/slipway-k8s/slipway/bench/internal/meter"
)

// quantity is something that was measured at several sizes, and is taken to grow with them in a line.
type quantity struct {
	name, unit string
	of         func(measured) float64
}

const (
	kib = 1024
	// serverName and etcdName are components of the control plane.
	serverName = "kube-apiserver"
	etcdName   = "etcd"
)

// What is measured at rest: by nodes of the cluster, or by agents.
var (
	restMemory   = quantity{"memory", "MiB", func(m measured) float64 { return float64(m.MostKiB) / kib }}
	restCPU      = quantity{"CPU", "ms/s", func(m measured) float64 { return m.Used.CPUSeconds * 1000 / m.Seconds }}
	restReceived = quantity{"received", "B/s", func(m measured) float64 { return float64(m.Used.Received) / m.Seconds }}
	restRequests = quantity{"requests", "/min", func(m measured) float64 { return float64(m.total()) * 60 / m.Seconds }}
	connections  = quantity{"connections", "", func(m measured) float64 { return float64(m.Used.Connections) }}
	watches      = quantity{"watches open at the API server", "", func(m measured) float64 { return meter.Sum(m.Used.Watches) }}
	serverHeap   = quantity{"memory alive in the API server", "MiB", func(m measured) float64 { return float64(m.Used.ServerLiveKiB) / kib }}
	routines     = quantity{"goroutines of the API server", "", func(m measured) float64 { return float64(m.Used.ServerGoroutines) }}
)

// What is measured while nodes are drained: by how many are at once. But for the memory, it is what is beyond
// that of the same time at rest.
var (
	drainMemory   = quantity{"memory at its most", "MiB", func(m measured) float64 { return float64(m.MostKiB) / kib }}
	drainCPU      = quantity{"CPU", "s", func(m measured) float64 { return m.Used.CPUSeconds }}
	drainRequests = quantity{"requests", "", func(m measured) float64 { return float64(m.total()) }}
	drainReceived = quantity{"received", "KiB", func(m measured) float64 { return float64(m.Used.Received) / kib }}
	drainSent     = quantity{"sent", "KiB", func(m measured) float64 { return float64(m.Used.Sent) / kib }}
	drainWrites   = quantity{"writes to etcd", "", func(m measured) float64 { return m.Used.Writes }}
	drainWatched  = quantity{"sent to all who watch", "KiB", func(m measured) float64 { return meter.Sum(m.Used.WatchBytes) / kib }}
	drainServer   = quantity{"CPU of the API server", "s", func(m measured) float64 { return m.Used.ComponentCPUSeconds[serverName] }}
	drainEtcd     = quantity{"CPU of etcd", "s", func(m measured) float64 { return m.Used.ComponentCPUSeconds[etcdName] }}
)

// atRestLine goes through what was measured at rest, by size.
func atRestLine(all []atRest, q quantity) fit.Line { return fit.Through(restPoints(all, q)...) }

func restPoints(all []atRest, q quantity) (points []fit.Point) {
	for _, r := range all {
		if r.Used != nil {
			points = append(points, fit.Point{X: float64(r.Size), Y: q.of(r.measured)})
		}
	}
	return points
}

// drainLine goes through what was measured while nodes were drained, by how many.
func drainLine(steps []step, rest *measured, q quantity) fit.Line {
	return fit.Through(drainPoints(steps, rest, q)...)
}

func drainPoints(steps []step, rest *measured, q quantity) (points []fit.Point) {
	for _, s := range steps {
		if s.Used == nil || s.Nodes == 0 {
			continue
		}
		points = append(points, fit.Point{X: float64(s.Nodes), Y: max(0, q.of(s.beyond(rest)))})
	}
	return points
}

// beyond is what was used beyond what goes on at rest anyway: heartbeats of nodes, and the like. Memory and
// what there was at the end stay as they are.
func (m measured) beyond(rest *measured) measured {
	if rest == nil || rest.Used == nil || rest.Seconds == 0 {
		return m
	}
	share := m.Seconds / rest.Seconds
	used := *m.Used
	used.CPUSeconds -= rest.Used.CPUSeconds * share
	used.Received -= int64(float64(rest.Used.Received) * share)
	used.Sent -= int64(float64(rest.Used.Sent) * share)
	used.Writes -= rest.Used.Writes * share
	used.WatchBytes = less(used.WatchBytes, rest.Used.WatchBytes, share)
	used.WatchEvents = less(used.WatchEvents, rest.Used.WatchEvents, share)
	used.ComponentCPUSeconds = less(used.ComponentCPUSeconds, rest.Used.ComponentCPUSeconds, share)
	m.Used = &used
	return m
}

func less(values, rest map[string]float64, share float64) map[string]float64 {
	left := map[string]float64{}
	for key, value := range values {
		left[key] = value - rest[key]*share
	}
	return left
}

// lastRest is the last of them, with which what is drained afterwards is compared.
func lastRest(all []atRest) *measured {
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1].measured
}
