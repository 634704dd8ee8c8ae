// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/podrun"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// ErrPodRuns means that the pod's process runs already.
var ErrPodRuns = errors.New("its process runs already; stop it first")

// PodRun prepares to run a command as that pod, as soon as the pod is bound.
func (c *Cluster) PodRun(ctx context.Context, namespace, name string) (podrun.Run, error) {
	st, err := state.Load(c.dir)
	if err != nil {
		return podrun.Run{}, err
	}
	api, err := c.api(st)
	if err != nil {
		return podrun.Run{}, err
	}
	pod, err := podrun.AwaitBound(ctx, api, namespace, name, c.report)
	if err != nil {
		return podrun.Run{}, err
	}
	return podrun.Run{
		API: api, Pod: pod,
		Server: c.settings(st).Server(), AuthorityFile: c.dir.Cert(component.Authority),
		Files: podrun.Files(c.dir.Pod(namespace, name)),
		Env:   []string{marker(st)}, Marker: podMarker(st, namespace, name), Report: c.report,
	}, nil
}

// RecordPod records the process that start starts for a pod, so that Down ends it. A pod has one
// such process at a time.
func (c *Cluster) RecordPod(ctx context.Context, pod state.Pod, start func(env []string) (process.Identity, error)) (PodFacts, error) {
	err := c.change(ctx, func(st *state.State) error {
		if recorded := st.Pod(pod.Namespace, pod.Name); recorded != nil && recorded.Process.Alive() {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, ErrPodRuns)
		}
		var err error
		if pod.Process, err = start([]string{marker(st), podMarker(st, pod.Namespace, pod.Name)}); err != nil {
			return err
		}
		st.SetPod(pod)
		return nil
	})
	return c.podFacts(pod), err
}
