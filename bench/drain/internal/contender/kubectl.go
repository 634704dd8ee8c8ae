// SPDX-License-Identifier: Apache-2.0

package contender

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

type kubectl struct{ stage *stage.Stage }

// newKubectl warms the cache of what the API server serves: who drains nodes has used
// kubectl before.
func newKubectl(ctx context.Context, s *stage.Stage) (*kubectl, error) {
	k := &kubectl{stage: s}
	return k, k.run(ctx, "get", "nodes,pods,daemonsets,poddisruptionbudgets", "-A")
}

func (k *kubectl) Name() string { return Kubectl }

// KubectlFlags are those that it drains with.
func KubectlFlags() []string {
	return []string{"--ignore-daemonsets", "--delete-emptydir-data", "--force"}
}

// Drain implements Contender.
func (k *kubectl) Drain(ctx context.Context, scene *stage.Scene, blocked time.Duration) (Times, error) {
	return during(ctx, blocked, func(ctx context.Context) error {
		if scene.Fleet > 0 {
			return k.loop(ctx, scene.Drained)
		}
		return k.run(ctx, append(append([]string{"drain"}, scene.Drained...), KubectlFlags()...)...)
	})
}

// loop is what people do with a fleet.
func (k *kubectl) loop(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		if err := k.run(ctx, append([]string{"drain", node}, KubectlFlags()...)...); err != nil {
			return err
		}
		if err := k.run(ctx, "uncordon", node); err != nil {
			return err
		}
	}
	return nil
}

// Return implements Contender.
func (k *kubectl) Return(ctx context.Context, nodes []string) error {
	return k.stage.Uncordon(ctx, nodes)
}

// Sent implements Contender.
func (k *kubectl) Sent(r auditlog.Request) bool { return strings.HasPrefix(r.UserAgent, "kubectl/") }

func (k *kubectl) run(ctx context.Context, arguments ...string) error {
	arguments = append(arguments, "--kubeconfig="+k.stage.Kubeconfig, "--cache-dir="+filepath.Join(k.stage.Dir, "kubectl-cache"))
	command := exec.CommandContext(ctx, k.stage.Kubectl, arguments...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var errs bytes.Buffer
	command.Stderr = &errs
	if err := command.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", arguments[0], err, errs.String())
	}
	return nil
}
