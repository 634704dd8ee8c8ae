// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// simulation is a cluster in the virtual time of a synctest bubble. It does what the real
// servers do, by their documentation: nothing here asks the code under test.
type simulation struct {
	*fake.Clientset
	t       *testing.T
	tracker clienttesting.ObjectTracker

	mu      sync.Mutex
	nodes   map[string]*corev1.Node
	pods    map[types.UID]*corev1.Pod
	budgets map[string]*policyv1.PodDisruptionBudget
	// scale is how many pods an app is to have.
	scale map[string]int32
	// frozen are budgets that no controller looks after.
	frozen map[string]bool
	serial int
	// fates are those of pods that somebody has done something to, evictions in their order.
	fates     map[types.UID]string
	evictions []types.UID
}

func newSimulation(t *testing.T) *simulation {
	// The tracker of fake.NewClientset manages fields as well, which takes most of a test's time.
	clientset, tracker := &fake.Clientset{}, clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	clientset.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	clientset.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := tracker.Watch(action.GetResource(), action.GetNamespace())
		return true, w, err
	})
	return &simulation{
		Clientset: clientset, t: t, tracker: tracker, nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{},
		budgets: map[string]*policyv1.PodDisruptionBudget{}, scale: map[string]int32{}, frozen: map[string]bool{},
		fates: map[types.UID]string{},
	}
}

var (
	podResource    = corev1.SchemeGroupVersion.WithResource("pods")
	nodeResource   = corev1.SchemeGroupVersion.WithResource("nodes")
	budgetResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
)

// store writes what the watches show.
func (s *simulation) store(object runtime.Object) {
	switch o := object.(type) {
	case *corev1.Pod:
		s.write(podResource, o.DeepCopy(), s.pods[o.UID] != nil)
		s.pods[o.UID] = o
	case *corev1.Node:
		s.write(nodeResource, o.DeepCopy(), s.nodes[o.Name] != nil)
		s.nodes[o.Name] = o
	case *policyv1.PodDisruptionBudget:
		s.write(budgetResource, o.DeepCopy(), s.budgets[o.Name] != nil)
		s.budgets[o.Name] = o
	}
}

func (s *simulation) write(to schema.GroupVersionResource, object client.Object, known bool) {
	s.serial++
	object.SetResourceVersion(fmt.Sprint(s.serial))
	var err error
	if known {
		err = s.tracker.Update(to, object, object.GetNamespace())
	} else {
		err = s.tracker.Create(to, object, object.GetNamespace())
	}
	if err != nil {
		s.t.Errorf("store %s %s: %v", to.Resource, object.GetName(), err)
	}
}

func (s *simulation) remove(pod *corev1.Pod) {
	delete(s.pods, pod.UID)
	if err := s.tracker.Delete(podResource, pod.Namespace, pod.Name); err != nil {
		s.t.Errorf("remove pod %s: %v", pod.Name, err)
	}
}

// CoreV1 answers evictions and deletions by itself: what the fake clientset is taught runs
// under its lock, one call at a time.
func (s *simulation) CoreV1() corev1client.CoreV1Interface { return core{s.Clientset.CoreV1(), s} }

type core struct {
	corev1client.CoreV1Interface
	server *simulation
}

func (c core) Pods(namespace string) corev1client.PodInterface {
	return podClient{c.CoreV1Interface.Pods(namespace), c.server, namespace}
}

type podClient struct {
	corev1client.PodInterface
	server    *simulation
	namespace string
}

func (c podClient) EvictV1(_ context.Context, e *policyv1.Eviction) error {
	return c.server.take(e.Namespace, e.Name, e.DeleteOptions, evicted)
}

func (c podClient) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return c.server.take(c.namespace, name, &options, deleted)
}

// latency is how long a request takes. Virtual time passes only when all has come to rest, so
// nothing changes before the watches are open: the fake clientset forgets what happens between
// their list and their beginning.
const latency = time.Millisecond

// take is the server's answer to an eviction or a deletion.
func (s *simulation) take(namespace, name string, options *metav1.DeleteOptions, how string) error {
	<-time.After(latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := s.named(namespace, name)
	if pod == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	if options.Preconditions != nil && *options.Preconditions.UID != pod.UID {
		return apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("the UID does not match"))
	}
	if how == evicted {
		if err := s.admit(pod); err != nil {
			return err
		}
		s.evictions = append(s.evictions, pod.UID)
	}
	if s.fates[pod.UID] == "" && pod.DeletionTimestamp == nil {
		s.fates[pod.UID] = how
	}
	s.terminate(pod, options.GracePeriodSeconds)
	return nil
}

func (s *simulation) named(namespace, name string) *corev1.Pod {
	for _, pod := range s.pods {
		if pod.Namespace == namespace && pod.Name == name {
			return pod
		}
	}
	return nil
}

// terminate gives a pod its time to end. A pod that runs nothing, or nowhere, needs none.
func (s *simulation) terminate(pod *corev1.Pod, grace *int64) {
	began := pod.DeletionTimestamp == nil
	if finished(pod) || pod.Spec.NodeName == "" {
		s.remove(pod)
		s.later(s.countBudgets)
		return
	}
	if grace == nil {
		grace = new(int64(30))
	}
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Duration(*grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = grace
	s.store(pod)
	if began {
		s.after(time.Second, func() { s.endContainers(pod.UID) })
		s.later(func() { s.replace(pod) })
		s.later(s.countBudgets)
	}
}

// admit is what the server says to an eviction.
func (s *simulation) admit(pod *corev1.Pod) error {
	if finished(pod) || pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil {
		return nil
	}
	of := s.budgetsOf(pod)
	switch {
	case len(of) == 0:
		return nil
	case len(of) > 1:
		return apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	b := of[0].DeepCopy()
	policy := b.Spec.UnhealthyPodEvictionPolicy
	if !ready(pod) && (policy != nil && *policy == policyv1.AlwaysAllow || b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy) {
		return nil
	}
	if b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed <= 0 {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: b.Name}}
		return err
	}
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod.Name] = metav1.Now()
	s.store(b)
	return nil
}

func (s *simulation) budgetsOf(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var of []*policyv1.PodDisruptionBudget
	for _, b := range s.budgets {
		if b.Namespace == pod.Namespace && b.Spec.Selector.MatchLabels["app"] == pod.Labels["app"] {
			of = append(of, b)
		}
	}
	return of
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
