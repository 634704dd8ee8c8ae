// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// Evictions measures the controller from a directory of binaries with this number of EvictionRequests at once, and
// shows it as Markdown. The pods are on no node: the API server deletes each at its eviction, and the measurement
// leaves out the time that pods take to terminate.
func Evictions(ctx context.Context, bin string, pods int, p *testbed.Progress) (text string, err error) {
	err = testbed.Run(ctx, testbed.Options{Nodes: 1, Evictions: true}, p, func(c *testbed.Cluster) error {
		app := func(namespace string, pods int) testbed.App {
			return testbed.App{Namespace: namespace, Name: namespace, Nodes: make([]string, pods), Bare: true}
		}
		if err := c.Create(ctx, []testbed.App{app("warm-up", 1), app("load", pods)}); err != nil {
			return err
		}
		controller, err := c.StartController(ctx, filepath.Join(bin, "controller"), []string{"--leader-elect=false"}, testbed.Evicting)
		if err != nil {
			return err
		}
		ctx, stop := testbed.While(ctx, controller)
		defer stop()
		if text, err = measureEvictions(ctx, c, controller.PID(), pods); err != nil {
			err = fmt.Errorf("%w; the controller's log:\n%s", errors.Join(err, context.Cause(ctx)), controller.Tail())
		}
		return err
	})
	return text, err
}

func measureEvictions(ctx context.Context, c *testbed.Cluster, pid, pods int) (string, error) {
	atRest, err := observe(ctx, c, pid, testbed.ControllerUser, func() error {
		_, err := evictAll(ctx, c, "warm-up")
		return err
	})
	if err != nil {
		return "", err
	}
	var requested time.Duration
	load, err := observe(ctx, c, pid, testbed.ControllerUser, func() (err error) {
		requested, err = evictAll(ctx, c, "load")
		return err
	})
	if err != nil {
		return "", err
	}
	each := func(n int) float64 { return float64(n) / float64(pods) }
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(load.byKind)) {
		if n := each(load.byKind[kind]); n >= .1 {
			kinds = append(kinds, fmt.Sprintf("%s %.1f", kind, n))
		}
	}
	table := report.NewTable("one controller with `--eviction-requests`", fmt.Sprintf("%d EvictionRequests at once", pods))
	table.Row("memory at rest", report.MiB(atRest.RSSKiB))
	table.Row("memory at its peak", report.MiB(load.PeakKiB))
	table.Row("until all were created, and until all EvictionRequests reported the deletion of their pod",
		requested.Round(100*time.Millisecond).String()+", "+load.took.Round(100*time.Millisecond).String())
	table.Row("requests for an eviction, beyond watches", fmt.Sprintf("%.2f: %s", each(load.requests()), strings.Join(kinds, ", ")))
	table.Row("conflicting writes, which the controller repeated", strconv.Itoa(load.failed))
	return table.String(), nil
}

// evictAll creates an EvictionRequest for each pod of a namespace, and waits until all report the deletion of their pod.
// It returns the time until all were created.
func evictAll(ctx context.Context, c *testbed.Cluster, namespace string) (requested time.Duration, err error) {
	const sideBySide = 32
	pods, err := c.Clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list the pods of %s: %w", namespace, err)
	}
	began := time.Now()
	creating, created := errgroup.WithContext(ctx)
	creating.SetLimit(sideBySide)
	for _, pod := range pods.Items {
		creating.Go(func() error {
			return c.Objects.Create(created, testbed.EvictionRequestOf(&pod, pod.Name, "example.com/bench"))
		})
	}
	if err := creating.Wait(); err != nil {
		return 0, fmt.Errorf("create an EvictionRequest: %w", err)
	}
	requested = time.Since(began)
	return requested, testbed.Await(ctx, c, c.Clients.LifecycleV1alpha1().RESTClient(), "evictionrequests", namespace, &evictionv1alpha1.EvictionRequest{},
		"EvictionRequests report the deletion of their pod", len(pods.Items), func(r *evictionv1alpha1.EvictionRequest) bool {
			return apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted))
		})
}
