// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is the time limit of the controllers and the scheduler to give a workload its pods.
// Usually they need seconds.
const patience = 2 * time.Minute

var errNoPods = fmt.Errorf("there was none for %s", patience)

// AgentPod waits until the node has its agent's pod. If it does not come, the error quotes the
// logs of the components that should create it.
func (c *Cluster) AgentPod(ctx context.Context, node string) (*corev1.Pod, error) {
	admin, err := c.installClient()
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeoutCause(ctx, patience, errNoPods)
	defer cancel()
	var found *corev1.Pod
	lister := ListerOf(admin, &corev1.PodList{}, client.InNamespace(Namespace), client.MatchingLabels(agentLabels), client.MatchingFields{"spec.nodeName": node})
	_, err = watchtools.UntilWithSync(within, lister, &corev1.Pod{}, nil, func(e watch.Event) (ok bool, err error) {
		found, ok = e.Object.(*corev1.Pod)
		return ok && e.Type != watch.Deleted && found.DeletionTimestamp == nil, nil
	})
	if ctx.Err() == nil && within.Err() != nil {
		err = errors.Join(errNoPods, c.logEnd("kube-controller-manager"), c.logEnd("kube-scheduler"))
	}
	if err != nil {
		return nil, fmt.Errorf("wait for the pod of the agent on %s: %w", node, err)
	}
	return found, nil
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

// FollowPods acts as the kubelets for the pods of Slipway until ctx is done: it starts a process
// for each pod, with the arguments of its container, unless the pod had one when the cluster was
// attached to. The programs are in the directory bin, the sockets in the directory sockets, whose
// path must be short: pods of a node share them if they have them on the host. FollowPods calls report with a line for each pod.
func (c *Cluster) FollowPods(ctx context.Context, bin, sockets string, report func(string)) error {
	admin, err := c.installClient()
	if err != nil {
		return err
	}
	started := map[string]bool{}
	for _, p := range c.Pods {
		started[p.Name] = p.Namespace == Namespace && p.State == "running"
	}
	lister := ListerOf(admin, &corev1.PodList{}, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": "slipway"})
	_, err = watchtools.UntilWithSync(ctx, lister, &corev1.Pod{}, nil, func(e watch.Event) (bool, error) {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok || e.Type == watch.Deleted || pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" || started[pod.Name] {
			return false, nil
		}
		started[pod.Name] = true
		// A pod that cannot be started delays no other.
		if err := c.StartPod(ctx, pod, commandOf(pod, bin, sockets)...); err != nil {
			report(fmt.Sprintf("pod %s has no process: %v", pod.Name, err))
		} else {
			report(fmt.Sprintf("pod %s on %s has a process", pod.Name, pod.Spec.NodeName))
		}
		return false, nil
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended it
	}
	return fmt.Errorf("follow the pods of Slipway: %w", err)
}

// commandOf returns the command of a pod's container for this machine: without addresses that
// several processes would share, and with a directory for its sockets.
func commandOf(pod *corev1.Pod, bin, sockets string) []string {
	container := pod.Spec.Containers[0]
	program := filepath.Base(container.Command[0])
	command := []string{filepath.Join(bin, program)}
	values := strings.NewReplacer("$(NODE_NAME)", pod.Spec.NodeName, "$(NAMESPACE)", pod.Namespace, "$(POD_UID)", string(pod.UID))
	for _, arg := range container.Args {
		command = append(command, values.Replace(arg))
	}
	// The last one of equal flags counts.
	command = append(command, "--health-probe-bind-address=0", "--metrics-bind-address=0")
	if program == "controller" {
		return command
	}
	dir := pod.Name[strings.LastIndex(pod.Name, "-")+1:]
	if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil }) {
		dir = pod.Spec.NodeName
	}
	return append(command, "--plugin-registration-path="+filepath.Join(sockets, dir, "r"))
}
