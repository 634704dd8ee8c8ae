// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/bench/internal/until"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// asking is how many requests of the measurement's own are under way at a time.
const asking = 32

// measurement is a cluster that serves EvictionRequests, with a controller that acts on
// them.
type measurement struct {
	settings   settings
	dir        string
	cluster    *devcluster.Cluster
	clients    kubernetes.Interface
	controller *controller.Process
	clock      clock.PassiveClock
}

func newMeasurement(ctx context.Context, s settings) (*measurement, error) {
	dir, err := os.MkdirTemp("", "slipway-evictions-")
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
	if err := m.cluster.InstallEvictions(ctx); err != nil {
		return err
	}
	admin := rest.CopyConfig(m.cluster.Admin)
	admin.ContentType, admin.QPS, admin.Burst = "application/json", 1000, 1000
	if m.clients, err = kubernetes.NewForConfig(admin); err != nil {
		return err
	}
	m.controller, err = controller.Start(ctx, m.cluster, controller.Options{
		Binary: m.settings.controller, Dir: m.dir, Config: []string{"rbac/evictions"},
		Flags: []string{"--eviction-requests", "--leader-elect=false"},
	})
	return err
}

func (m *measurement) close() error {
	var errs []error
	if m.controller != nil {
		errs = append(errs, m.controller.Kill())
	}
	if m.cluster != nil {
		errs = append(errs, m.cluster.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(m.dir))...)
}

func (m *measurement) measure(ctx context.Context) (*result, error) {
	r := &result{pods: m.settings.pods}
	pods := make([]*corev1.Pod, m.settings.pods)
	if err := m.each(ctx, func(ctx context.Context, i int) (err error) {
		pods[i], err = m.createPod(ctx, i)
		return err
	}); err != nil {
		return nil, err
	}
	if err := m.warmUp(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.rssAtRest, err = m.controller.Memory("VmRSS"); err != nil {
		return nil, err
	}
	began := m.clock.Now()
	if err := m.each(ctx, func(ctx context.Context, i int) error { return m.ask(ctx, pods[i]) }); err != nil {
		return nil, err
	}
	r.asked = m.clock.Since(began)
	if err := m.awaitEvicted(ctx, metav1.NamespaceDefault, m.settings.pods); err != nil {
		return nil, err
	}
	r.took = m.clock.Since(began)
	if r.rssPeak, err = m.controller.Memory("VmHWM"); err != nil {
		return nil, err
	}
	requests, err := auditlog.ReadFile(m.cluster.AuditLog)
	if err != nil {
		return nil, err
	}
	r.count(requests, began)
	return r, nil
}

// each does something for each pod, some of them at a time.
func (m *measurement) each(ctx context.Context, do func(context.Context, int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(asking)
	for i := range m.settings.pods {
		all.Go(func() error { return do(ctx, i) })
	}
	return all.Wait()
}

// warmUp returns when the controller has evicted a pod: it works.
func (m *measurement) warmUp(ctx context.Context) error {
	const namespace = "kube-public"
	pod, err := m.create(ctx, namespace, "warm-up")
	if err != nil {
		return err
	}
	if err := m.ask(ctx, pod); err != nil {
		return err
	}
	return m.awaitEvicted(ctx, namespace, 1)
}

func (m *measurement) createPod(ctx context.Context, i int) (*corev1.Pod, error) {
	return m.create(ctx, metav1.NamespaceDefault, fmt.Sprintf("pod-%d", i))
}

// create creates a pod that nobody runs: it goes as soon as it is evicted, and what is
// measured is not how long pods take to end.
func (m *measurement) create(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.SchedulerName = "nobody"
	pod.Spec.AutomountServiceAccountToken = new(bool)
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/app:1"}}
	created, err := m.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create pod %s: %w", name, err)
	}
	return created, nil
}

func (m *measurement) ask(ctx context.Context, pod *corev1.Pod) error {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = "example.com/bench", evictionv1alpha1.EvictionRequestIntentEviction
	if _, err := m.clients.LifecycleV1alpha1().EvictionRequests(pod.Namespace).Create(ctx, r, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("ask for pod %s: %w", pod.Name, err)
	}
	return nil
}

// awaitEvicted returns when so many requesters have been told that their pod is gone.
func (m *measurement) awaitEvicted(ctx context.Context, namespace string, many int) error {
	told := map[string]bool{}
	err := until.Done(ctx, m.clients.LifecycleV1alpha1().RESTClient(), "evictionrequests", namespace, &evictionv1alpha1.EvictionRequest{},
		func(r *evictionv1alpha1.EvictionRequest) bool {
			if apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)) {
				told[r.Name] = true
			}
			return len(told) == many
		})
	if err != nil {
		return fmt.Errorf("%d of %d pods are gone: %w; the controller says:\n%s", len(told), many, err, m.controller.Tail())
	}
	return nil
}
