// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FollowPods acts as the kubelets for the pods of Slipway until ctx is done: it starts a process
// for each pod, with the arguments of its container, unless the pod had one when the cluster was
// attached to. The programs are in the directory bin. told gets a line for each pod.
func (c *Cluster) FollowPods(ctx context.Context, bin string, told func(string)) error {
	admin, err := c.installClient()
	if err != nil {
		return err
	}
	// Short, because unix sockets are in it.
	sockets, err := os.MkdirTemp("", "sk")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(sockets) }() // what remains disturbs no process
	started := c.running()
	lister := ListerOf(admin, &corev1.PodList{}, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": "slipway"})
	_, err = watchtools.UntilWithSync(ctx, lister, &corev1.Pod{}, nil, func(e watch.Event) (bool, error) {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok || e.Type == watch.Deleted || pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" || started[pod.Name] {
			return false, nil
		}
		started[pod.Name] = true
		// A pod that cannot be started delays no other.
		if err := c.StartPod(ctx, pod, commandOf(pod, bin, filepath.Join(sockets, strconv.Itoa(len(started))))...); err != nil {
			told(fmt.Sprintf("pod %s has no process: %v", pod.Name, err))
		} else {
			told(fmt.Sprintf("pod %s on %s has a process", pod.Name, pod.Spec.NodeName))
		}
		return false, nil
	})
	if ctx.Err() != nil {
		return nil // it was asked to end
	}
	return fmt.Errorf("follow the pods of Slipway: %w", err)
}

// running returns the names of Slipway's pods that have a process.
func (c *Cluster) running() map[string]bool {
	names := map[string]bool{}
	for _, p := range c.Pods {
		if p.Namespace == Namespace && p.State == "running" {
			names[p.Name] = true
		}
	}
	return names
}

// commandOf returns the command of a pod's container for this machine: without addresses that
// several processes would share, and with its own directory for sockets.
func commandOf(pod *corev1.Pod, bin, sockets string) []string {
	container := pod.Spec.Containers[0]
	program := filepath.Base(container.Command[0])
	command := []string{filepath.Join(bin, program)}
	values := strings.NewReplacer("$(NODE_NAME)", pod.Spec.NodeName, "$(NAMESPACE)", pod.Namespace)
	for _, arg := range container.Args {
		command = append(command, values.Replace(arg))
	}
	// Of two flags, the last one counts.
	command = append(command, "--health-probe-bind-address=0", "--metrics-bind-address=0")
	if program == "node-agent" {
		return append(command, "--plugin-registration-path="+filepath.Join(sockets, "r"), "--datadir="+filepath.Join(sockets, "d"))
	}
	return append(command, "--socket-dir=") // that of temporary files
}
