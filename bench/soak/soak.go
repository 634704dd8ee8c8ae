// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// stage is a cluster with a workload and a controller on it.
type stage struct {
	settings settings
	progress io.Writer
	began    time.Time

	dir        string
	cluster    *devcluster.Cluster
	admin      *rest.Config
	clients    kubernetes.Interface
	events     client.WithWatch
	controller *controller.Process
	components map[string]int // processes of the control plane, by name
	address    string         // of the controller's metrics, with mixed load
}

// soak does all of it, and returns what was measured.
func soak(ctx context.Context, s settings, progress io.Writer) (r results, err error) {
	if err := s.check(); err != nil {
		return r, err
	}
	err = onStage(ctx, s, progress, func(g *stage) (err error) {
		r, err = g.measure(ctx)
		return err
	})
	return r, err
}

// onStage does something on a cluster of its own, which is there as long as that goes on.
func onStage(ctx context.Context, s settings, progress io.Writer, do func(*stage) error) (err error) {
	dir, err := os.MkdirTemp("", "slipway-soak-")
	if err != nil {
		return err
	}
	g := &stage{settings: s, progress: progress, began: time.Now(), dir: dir}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.open(ctx); err != nil {
		return err
	}
	return do(g)
}

//go:embed kwok.yaml
var kwok string

// arguments are those of the launcher. No client of the control plane is to hold it
// back; and nodes are not taken for dead because a small machine is late with the
// heartbeats of a thousand.
func (g *stage) arguments() ([]string, error) {
	policy, simulation := filepath.Join(g.dir, "audit-policy.yaml"), filepath.Join(g.dir, "kwok.yaml")
	err := errors.Join(os.WriteFile(policy, []byte(auditcheck.Policy), 0o600), os.WriteFile(simulation, []byte(kwok), 0o600))
	return []string{
		"--quiet", "--timeout=10m", "--audit-policy=" + policy, "--kwok-arg=config=" + simulation,
		"--controller-manager-arg=kube-api-qps=500", "--controller-manager-arg=kube-api-burst=1000",
		"--controller-manager-arg=node-monitor-grace-period=10m",
		"--scheduler-arg=kube-api-qps=500", "--scheduler-arg=kube-api-burst=1000",
	}, err
}

func (g *stage) open(ctx context.Context) (err error) {
	g.say("starting a cluster of %d nodes", g.settings.firstNodes())
	arguments, err := g.arguments()
	if err != nil {
		return err
	}
	g.cluster, err = devcluster.Run(ctx, devcluster.Options{
		Dir: filepath.Join(g.dir, "cluster"), Nodes: g.settings.firstNodes(), Args: arguments, Stderr: g.progress,
	})
	if err != nil {
		return err
	}
	if err := g.cluster.Install(ctx, lifecyclev1alpha1.GroupKubernetes); err != nil {
		return err
	}
	g.components = g.cluster.PIDs()
	g.admin = rest.CopyConfig(g.cluster.Admin)
	g.admin.UserAgent, g.admin.QPS = "slipway-soak", -1
	if g.clients, err = kubernetes.NewForConfig(g.admin); err != nil {
		return err
	}
	in := apigroup.In(lifecyclev1alpha1.GroupKubernetes)
	g.events, err = client.NewWithWatch(g.admin, client.Options{Scheme: in.Scheme(), Mapper: in.Mapper()})
	return err
}

// start starts the controller, with the rights of central mode.
func (g *stage) start(ctx context.Context) (err error) {
	g.controller, err = controller.Start(ctx, g.cluster, controller.Options{
		Binary: g.settings.controller, Dir: g.dir, Config: []string{"rbac/central"}, Flags: []string{"--claim-mode=central"},
	})
	return err
}

// stop kills the controller.
func (g *stage) stop() error {
	c := g.controller
	g.controller = nil
	return c.Kill()
}

// withLog is the error, if it is one, with how the controller has ended, if it has, and the end of its log.
func (g *stage) withLog(err error) error {
	if err == nil || g.controller == nil {
		return err
	}
	return fmt.Errorf("%w; the controller's log:\n%s", errors.Join(g.controller.Ended(), err), g.controller.Tail())
}

// close ends the controller, takes the cluster down and removes its files.
func (g *stage) close() error {
	var errs []error
	if g.controller != nil {
		errs = append(errs, g.stop())
	}
	if g.cluster != nil {
		errs = append(errs, g.cluster.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(g.dir))...)
}

// say reports progress, with the seconds since the beginning.
func (g *stage) say(format string, args ...any) {
	fmt.Fprintf(g.progress, "soak: %4.0f s  %s\n", time.Since(g.began).Seconds(), fmt.Sprintf(format, args...))
}
