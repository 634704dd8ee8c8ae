// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/podrun"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// ErrPodRuns means that the pod's process runs already.
var ErrPodRuns = errors.New("its process runs already; stop it first")

var errNoProcess = errors.New("no process was started for it")

// podMarker is in the environment of a pod's supervisor and of all that comes
// from it.
func podMarker(namespace, name string, st *state.State) string {
	_, id, _ := strings.Cut(st.Marker, "=")
	return fmt.Sprintf("%s=%s/%s/%s", podMarkerName, id, namespace, name)
}

// PodRun prepares to run a command as that pod, as soon as the pod is bound.
func (c *Cluster) PodRun(ctx context.Context, namespace, name string) (podrun.Run, error) {
	st, err := state.Load(c.dir)
	if err != nil {
		return podrun.Run{}, err
	}
	api, err := c.API(st)
	if err != nil {
		return podrun.Run{}, err
	}
	pod, err := podrun.AwaitBound(ctx, api, namespace, name)
	if err != nil {
		return podrun.Run{}, err
	}
	return podrun.Run{
		API: api, Pod: pod,
		Server: settings(c.dir, st, nil).Server(), AuthorityFile: component.AuthorityFile(c.dir),
		Files: podrun.Files(c.dir.Pod(namespace, name)),
		Env:   []string{st.Marker}, Marker: podMarker(namespace, name, st), Report: c.report,
	}, nil
}

// RecordPod records the process that start starts for a pod, so that Down ends
// it. A pod has one such process at a time.
func (c *Cluster) RecordPod(ctx context.Context, pod state.Pod, start func(env []string) (process.Identity, error)) error {
	return c.change(ctx, func(st *state.State) error {
		if recorded, found := st.Pod(pod.Namespace, pod.Name); found && recorded.Process.Alive() {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, ErrPodRuns)
		}
		started, err := start([]string{st.Marker, podMarker(pod.Namespace, pod.Name, st)})
		if err != nil {
			return err
		}
		pod.Process = started
		st.SetPod(pod)
		return nil
	})
}

// PodFacts is what there is to know of the process of that pod.
func (c *Cluster) PodFacts(namespace, name string) (*PodFacts, error) {
	st, err := state.Load(c.dir)
	if err != nil {
		return nil, err
	}
	recorded, found := st.Pod(namespace, name)
	if !found {
		return nil, fmt.Errorf("pod %s/%s: %w", namespace, name, errNoProcess)
	}
	facts := c.podFacts(recorded)
	return &facts, nil
}
