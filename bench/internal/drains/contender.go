// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/drains/ideal"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// The contenders.
const (
	// Kubectl is the cluster's own kubectl, as an administrator calls it.
	Kubectl = "kubectl"
	// Ideal is the evictor of package ideal.
	Ideal = "ideal"
	// Slipway gets a LifecycleEvent for each node, or a NodeMaintenance for a fleet.
	Slipway = "slipway"
)

// Contenders returns the names of all contenders.
func Contenders() []string { return []string{Kubectl, Ideal, Slipway} }

// contender drains nodes.
type contender struct {
	name string
	// drain drains the nodes of a scene, and returns them as well if it is a fleet. A blocked that
	// is not zero stops the drain after that time: it cannot end.
	drain func(ctx context.Context, s scene, blocked time.Duration) (testbed.Times, error)
	// uncordon makes the nodes schedulable again.
	uncordon func(ctx context.Context, nodes []string) error
	// sent reports whether a request came from the contender.
	sent func(auditlog.Request) bool
}

// scene is a workload and the nodes to drain.
type scene struct {
	namespace string
	apps      []testbed.App
	drained   []string
	fleet     int // how many may be out of service at a time
}

func newContender(ctx context.Context, name string, c *testbed.Cluster) (contender, error) {
	switch name {
	case Kubectl:
		return newKubectl(ctx, c)
	case Ideal:
		return newIdeal(c)
	default:
		return newSlipway(c), nil
	}
}

// KubectlFlags returns the flags of kubectl drain.
func KubectlFlags() []string {
	return []string{"--ignore-daemonsets", "--delete-emptydir-data", "--force"}
}

// newKubectl fills kubectl's discovery cache: an administrator has used kubectl before.
func newKubectl(ctx context.Context, c *testbed.Cluster) (contender, error) {
	run := func(ctx context.Context, arguments ...string) error {
		arguments = append(arguments, "--kubeconfig="+c.Kubeconfig, "--cache-dir="+filepath.Join(c.Dir, "kubectl-cache"))
		command := exec.CommandContext(ctx, c.Kubectl, arguments...)
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		var errs bytes.Buffer
		command.Stderr = &errs
		if err := command.Run(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", arguments[0], err, errs.String())
		}
		return nil
	}
	drain := func(ctx context.Context, nodes ...string) error {
		return run(ctx, append(append([]string{"drain"}, nodes...), KubectlFlags()...)...)
	}
	// An administrator drains a fleet in a loop.
	loop := func(ctx context.Context, nodes []string) error {
		for _, node := range nodes {
			if err := drain(ctx, node); err != nil {
				return err
			}
			if err := run(ctx, "uncordon", node); err != nil {
				return err
			}
		}
		return nil
	}
	return contender{
		name: Kubectl,
		drain: func(ctx context.Context, s scene, blocked time.Duration) (testbed.Times, error) {
			return timed(ctx, blocked, func(ctx context.Context) error {
				if s.fleet > 0 {
					return loop(ctx, s.drained)
				}
				return drain(ctx, s.drained...)
			})
		},
		uncordon: c.MakeSchedulable,
		sent:     func(r auditlog.Request) bool { return strings.HasPrefix(r.UserAgent, "kubectl/") },
	}, run(ctx, "get", "nodes,pods,daemonsets,poddisruptionbudgets", "-A")
}

func newIdeal(c *testbed.Cluster) (contender, error) {
	const userAgent = "slipway-bench-ideal"
	clients, err := kubernetes.NewForConfig(c.Config(userAgent))
	return contender{
		name: Ideal,
		drain: func(ctx context.Context, s scene, blocked time.Duration) (testbed.Times, error) {
			return timed(ctx, blocked, func(ctx context.Context) error { return ideal.Drain(ctx, clients, s.namespace, s.drained) })
		},
		uncordon: c.MakeSchedulable,
		sent:     func(r auditlog.Request) bool { return r.UserAgent == userAgent },
	}, err
}

// newSlipway is for a cluster whose agents, or controller, have been started.
func newSlipway(c *testbed.Cluster) contender {
	return contender{
		name: Slipway,
		drain: func(ctx context.Context, s scene, blocked time.Duration) (testbed.Times, error) {
			if s.fleet == 0 {
				return c.Transition(ctx, testbed.Drain, s.drained, blocked)
			}
			return timed(ctx, 0, func(ctx context.Context) error {
				return c.Maintain(ctx, s.namespace, s.drained, &slipwayv1alpha1.MaintenanceRollout{MaxUnavailable: new(intstr.FromInt(s.fleet))})
			})
		},
		uncordon: func(ctx context.Context, nodes []string) error {
			if _, err := c.Transition(ctx, testbed.Uncordon, nodes, 0); err != nil {
				return err
			}
			return c.AwaitSchedulable(ctx, nodes)
		},
		sent: func(r auditlog.Request) bool { return r.User == testbed.AgentUser || r.User == testbed.ControllerUser },
	}
}

// timed runs a drain, and stops it after a time that is not zero.
func timed(ctx context.Context, blocked time.Duration, drain func(context.Context) error) (testbed.Times, error) {
	t := testbed.Times{Began: time.Now()}
	limited := ctx
	if blocked > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, blocked)
		defer cancel()
	}
	err := drain(limited)
	t.Ended = time.Now()
	if blocked > 0 && limited.Err() != nil && ctx.Err() == nil {
		t.Ended, err = t.Began.Add(blocked), nil
	}
	t.Over = t.Ended
	return t, err
}
