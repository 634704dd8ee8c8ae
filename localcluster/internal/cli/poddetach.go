// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/podrun"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

var errSupervisorEnded = errors.New("the command did not start")

// background starts a supervisor, which is this program again, and returns when
// the command runs.
func (f podFlags) background(ctx context.Context, opened *cluster.Cluster, pod state.Pod, streams Streams) error {
	// Waited for here already, so that the wait has somebody who sees it fail.
	bindContext, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("%w (%s)", errNotBound, f.timeout))
	defer cancel()
	run, err := opened.PodRun(bindContext, pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	pod.Log = opened.Dir().PodLog(pod.Namespace, pod.Name)
	var supervisor process.Identity
	err = opened.RecordPod(ctx, pod, func(env []string) (process.Identity, error) {
		if err := run.Files.Forget(); err != nil {
			return process.Identity{}, err
		}
		supervisor, err = f.startSupervisor(opened, pod, env)
		return supervisor, err
	})
	if err != nil {
		return err
	}
	if err := awaitCommand(bindContext, run.Files, supervisor); err != nil {
		return fmt.Errorf("pod %s/%s: %w; see %s", pod.Namespace, pod.Name, err, pod.Log)
	}
	facts, err := opened.PodFacts(pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	return printAs(streams.Out, f.output, facts, func(out io.Writer) {
		_, _ = fmt.Fprintf(out, "pod %s/%s runs on %s; its log is %s\n", pod.Namespace, pod.Name, run.Pod.Node, pod.Log)
	})
}

func (f podFlags) startSupervisor(opened *cluster.Cluster, pod state.Pod, env []string) (process.Identity, error) {
	self, err := os.Executable()
	if err != nil {
		return process.Identity{}, fmt.Errorf("find the launcher itself: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return process.Identity{}, fmt.Errorf("find the working directory: %w", err)
	}
	args := []string{
		"pod", pod.Namespace + "/" + pod.Name, "--supervise",
		"--dir", string(opened.Dir()), "--token-life", f.life.String(), "--timeout", f.timeout.String(), "--",
	}
	return process.Start(process.Spec{
		Path: self, Args: append(args, pod.Command...), Env: append(os.Environ(), env...), Dir: here, Log: pod.Log,
	})
}

// awaitCommand returns when the command runs, or has run.
func awaitCommand(ctx context.Context, files podrun.Files, supervisor process.Identity) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if files.Started() {
			return nil
		}
		if !supervisor.Alive() {
			return errSupervisorEnded
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
