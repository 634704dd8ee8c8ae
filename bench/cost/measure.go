// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

const (
	node      = "worker-1"
	agentUser = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.AgentServiceAccount
)

// measurement is a cluster with an agent on it.
type measurement struct {
	settings settings
	dir      string
	cluster  *devcluster.Cluster
	events   client.WithWatch
	clients  kubernetes.Interface
	agent    *exec.Cmd
	clock    clock.Clock
}

func newMeasurement(ctx context.Context, s settings) (*measurement, error) {
	dir, err := os.MkdirTemp("", "slipway-cost-")
	if err != nil {
		return nil, err
	}
	m := &measurement{settings: s, dir: dir, clock: clock.RealClock{}}
	if err := m.start(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *measurement) start(ctx context.Context) (err error) {
	m.cluster, err = devcluster.Run(ctx, devcluster.Options{Dir: filepath.Join(m.dir, "cluster"), Nodes: 1})
	if err != nil {
		return err
	}
	if err := m.cluster.Install(ctx, lifecyclev1alpha1.GroupKubernetes); err != nil {
		return err
	}
	if err := m.cluster.CreateAgentPods(ctx); err != nil {
		return err
	}
	if m.clients, err = kubernetes.NewForConfig(m.cluster.Admin); err != nil {
		return err
	}
	in := apigroup.In(lifecyclev1alpha1.GroupKubernetes)
	if m.events, err = client.NewWithWatch(m.cluster.Admin, client.Options{Scheme: in.Scheme(), Mapper: in.Mapper()}); err != nil {
		return err
	}
	return m.startAgent(ctx)
}

func (m *measurement) startAgent(ctx context.Context) error {
	config, err := m.cluster.AgentConfig(ctx, node)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(m.dir, "kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return err
	}
	command := m.cluster.AgentCommand(node, m.settings.agent, "--kubeconfig="+kubeconfig)
	m.agent = exec.CommandContext(ctx, command[0], command[1:]...)
	m.agent.Stderr = os.Stderr
	return m.agent.Start()
}

func (m *measurement) close() error {
	var errs []error
	if m.agent != nil && m.agent.Process != nil {
		errs = append(errs, m.agent.Process.Kill())
		_ = m.agent.Wait() // it was killed
	}
	if m.cluster != nil {
		errs = append(errs, m.cluster.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(m.dir))...)
}

func (m *measurement) measure(ctx context.Context) (*result, error) {
	if err := m.fillNode(ctx); err != nil {
		return nil, err
	}
	if err := m.awaitAgent(ctx); err != nil {
		return nil, err
	}
	r := &result{}
	restBegan := m.clock.Now()
	select { // the measurement is of time, at rest
	case <-m.clock.After(m.settings.rest):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var err error
	if r.rssAtRest, err = proc.Memory(m.agent.Process.Pid, "VmRSS"); err != nil {
		return nil, err
	}
	drainBegan := m.clock.Now()
	if err := m.drain(ctx); err != nil {
		return nil, err
	}
	r.drain = m.clock.Since(drainBegan)
	if r.rssPeak, err = proc.Memory(m.agent.Process.Pid, "VmHWM"); err != nil {
		return nil, err
	}
	requests, err := auditlog.ReadFile(m.cluster.AuditLog)
	if err != nil {
		return nil, err
	}
	r.count(requests, restBegan, drainBegan)
	return r, nil
}

// fillNode creates the pods, bound to the node.
func (m *measurement) fillNode(ctx context.Context) error {
	for i := range m.settings.pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%d", i), Labels: map[string]string{"app": "load"},
				Annotations: map[string]string{
					"pod-delete.stage.kwok.x-k8s.io/delay": "1s", "pod-delete.stage.kwok.x-k8s.io/jitter-delay": "1s",
				},
			},
			Spec: corev1.PodSpec{
				NodeName: node, TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
			},
		}
		if _, err := m.clients.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s: %w", pod.Name, err)
		}
	}
	running := 0
	seen := map[string]bool{}
	lister := cache.NewFilteredListWatchFromClient(m.clients.CoreV1().RESTClient(), "pods", metav1.NamespaceDefault,
		func(o *metav1.ListOptions) { o.LabelSelector = "app=load" })
	_, err := watchtools.UntilWithSync(ctx, lister, &corev1.Pod{}, nil, func(e watch.Event) (bool, error) {
		if pod, ok := e.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning && !seen[pod.Name] {
			seen[pod.Name] = true
			running++
		}
		return running == m.settings.pods, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the pods run: %w", err)
	}
	return nil
}

// awaitAgent waits until the agent and its driver are there: until they have returned the
// node, which nobody has taken out of service.
func (m *measurement) awaitAgent(ctx context.Context) error {
	return m.carryOut(ctx, "warm-up", "drain.slm.k8s.io-uncordon")
}

func (m *measurement) drain(ctx context.Context) error {
	return m.carryOut(ctx, "drain", "drain.slm.k8s.io")
}

// carryOut asks for a transition of the node, and waits for the event's end.
func (m *measurement) carryOut(ctx context.Context, name, transition string) error {
	w, err := m.events.Watch(ctx, &lifecyclev1alpha1.LifecycleEventList{})
	if err != nil {
		return fmt.Errorf("watch events: %w", err)
	}
	defer w.Stop()
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node},
	}
	if err := m.events.Create(ctx, event); err != nil {
		return fmt.Errorf("create the event: %w", err)
	}
	for seen := range w.ResultChan() {
		if e, ok := seen.Object.(*lifecyclev1alpha1.LifecycleEvent); ok && seen.Type == watch.Deleted && e.Name == name {
			if e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
				return fmt.Errorf("the %s ended as %s: %+v", name, e.Status.ClaimStatus, e.Status.Conditions)
			}
			return nil
		}
	}
	return errors.New("the watch of events ended")
}
