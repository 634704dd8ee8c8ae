// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long the controllers and the scheduler may take to give a workload its pods,
// which takes seconds where they work.
const patience = 2 * time.Minute

var errNoPods = fmt.Errorf("there was none for %s", patience)

// AgentPod waits until the node has its agent's pod.
func (c *Cluster) AgentPod(ctx context.Context, node string) (*corev1.Pod, error) {
	var found *corev1.Pod
	err := c.awaitPods(ctx, func(e watch.Event, pod *corev1.Pod) bool {
		found = pod
		return e.Type != watch.Deleted && pod.DeletionTimestamp == nil
	}, client.MatchingLabels(agentLabels), client.MatchingFields{"spec.nodeName": node})
	if err != nil {
		return nil, fmt.Errorf("wait for the pod of the agent on %s: %w", node, err)
	}
	return found, nil
}

// ControllerPods waits until the Deployment of the controllers has that many pods on nodes.
func (c *Cluster) ControllerPods(ctx context.Context, many int) ([]*corev1.Pod, error) {
	found := map[string]*corev1.Pod{}
	err := c.awaitPods(ctx, func(e watch.Event, pod *corev1.Pod) bool {
		delete(found, pod.Name)
		if e.Type != watch.Deleted && pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" {
			found[pod.Name] = pod
		}
		return len(found) >= many
	}, client.MatchingLabels(controllerLabels))
	if err != nil {
		return nil, fmt.Errorf("wait for the %d pods of the controllers: %w", many, err)
	}
	return slices.Collect(maps.Values(found)), nil
}

// awaitPods waits until the listed pods of Slipway's own namespace satisfy wanted. If they do not come,
// its error quotes the logs of the components that should create them.
func (c *Cluster) awaitPods(ctx context.Context, wanted func(watch.Event, *corev1.Pod) bool, options ...client.ListOption) error {
	admin, err := c.installClient()
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, patience, errNoPods)
	defer cancel()
	lister := ListerOf(admin, &corev1.PodList{}, append(options, client.InNamespace(Namespace))...)
	_, err = watchtools.UntilWithSync(within, lister, &corev1.Pod{}, nil, func(e watch.Event) (bool, error) {
		pod, ok := e.Object.(*corev1.Pod)
		return ok && wanted(e, pod), nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && within.Err() != nil:
		return errors.Join(errNoPods, c.logEnd("kube-controller-manager"), c.logEnd("kube-scheduler"))
	default:
		return err
	}
}

// logEnd quotes the end of a component's log.
func (c *Cluster) logEnd(component string) error {
	const lines = 8
	path := filepath.Join(c.Dir, "logs", component+".log")
	log, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	all := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return fmt.Errorf("%s ends with:\n%s", path, bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
