// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	backup      = "example.com/backup"
	notReturned = "a node that was drained stays cordoned until it is returned, which is not part of this test"
)

// scene is a node that is drained.
type scene struct {
	*testing.T

	env     *harness.Env
	clients kubernetes.Interface
	node    *harness.Node
	event   string
}

func newScene(t *testing.T, env *harness.Env, clients kubernetes.Interface) *scene {
	t.Helper()
	s := &scene{T: t, env: env, clients: clients}
	s.node = env.Node(t, "responders")
	s.event = s.node.EventName("drain")
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// pod is a pod on the node with no responder of its own.
func (s *scene) pod(app string) *corev1.Pod {
	s.Helper()
	pod := s.node.Pod(app, harness.PodOptions{Gone: time.Second})
	s.node.AwaitReady(pod)
	return pod
}

// podWithBackup is one that is to be backed up before it goes.
func (s *scene) podWithBackup(app string) *corev1.Pod {
	s.Helper()
	pod := s.pod(app)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+evictionrequest.AnnotationResponders+`":"`+backup+`:20000"}}}`))
	s.must(s.env.Client.Patch(s.Context(), pod, patch))
	return pod
}

// drain starts the agent and asks for a drain.
func (s *scene) drain(change func(*slipwayv1alpha1.DrainParameters)) *harness.Process {
	s.Helper()
	agent := s.node.Agent("")
	s.node.Event(s.event, harness.Drain, harness.Kept, harness.Parameters(s.T, change))
	return agent
}

func auto(*slipwayv1alpha1.DrainParameters) {}

func in(mode slipwayv1alpha1.DrainMode) func(*slipwayv1alpha1.DrainParameters) {
	return func(p *slipwayv1alpha1.DrainParameters) { p.Mode = mode }
}

func refs(pods ...*corev1.Pod) []lifecyclev1alpha1.PodReference {
	var all []lifecyclev1alpha1.PodReference
	for _, p := range pods {
		all = append(all, lifecyclev1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
	}
	return all
}

// awaitLeft waits until the event names these pods, and no others.
func (s *scene) awaitLeft(pods ...*corev1.Pod) {
	s.Helper()
	s.env.AwaitEvent(s.T, s.event, "names the pods that it leaves", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.Equal(e.Status.LeftToResponders, refs(pods...))
	})
}

func (s *scene) awaitBlocker(reason string, pod *corev1.Pod) {
	s.Helper()
	s.env.AwaitEvent(s.T, s.event, "waits: "+reason, func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.ContainsFunc(e.Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
			return b.Reason == reason && b.Object == "Pod "+pod.Namespace+"/"+pod.Name && b.By == "Eviction "+pod.Namespace+"/"+pod.Name
		})
	})
}

// succeeds waits until the event has succeeded, and returns how it was.
func (s *scene) succeeds() {
	s.Helper()
	s.node.Expect(harness.CordonLeft, notReturned)
	ended := s.env.Outcome(s.T, s.event)
	if ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		s.Errorf("the event is %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	if left := ended.Status.LeftToResponders; len(left) > 0 {
		s.Errorf("the event has ended, and names %v", left)
	}
}

// eviction creates the Eviction of a pod, called after it, in which the backup is at work.
func (s *scene) eviction(pod *corev1.Pod) {
	s.Helper()
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: pod.Name, UID: pod.UID}
	_, err := s.clients.LifecycleV1alpha1().Evictions(pod.Namespace).Create(s.Context(), e, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() {
		s.env.DeleteQuietly(&evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
	})
	s.change(pod, func(status *evictionv1alpha1.EvictionStatus) {
		status.TargetResponders = []evictionv1alpha1.TargetResponder{
			{Name: backup, Priority: new(int32(20000)), State: evictionv1alpha1.ResponderStateActive},
			{Name: evictionrequest.Evictor, Priority: new(int32(100)), State: evictionv1alpha1.ResponderStateInactive},
		}
		status.Responders = []evictionv1alpha1.ResponderStatus{{Name: backup, StartTime: &metav1.Time{Time: time.Now()}}, {Name: evictionrequest.Evictor}}
	})
}

// change writes the status of a pod's Eviction.
func (s *scene) change(pod *corev1.Pod, change func(*evictionv1alpha1.EvictionStatus)) {
	s.Helper()
	evictions := s.clients.LifecycleV1alpha1().Evictions(pod.Namespace)
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		e, err := evictions.Get(s.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&e.Status)
		_, err = evictions.UpdateStatus(s.Context(), e, metav1.UpdateOptions{})
		return err
	}))
}

// completes says that the backup is done, and gives no other responder its turn.
func completes(status *evictionv1alpha1.EvictionStatus) {
	status.Responders[0].CompletionTime = &metav1.Time{Time: time.Now()}
}

// says is a sign of life of the backup.
func says(message string) func(*evictionv1alpha1.EvictionStatus) {
	return func(status *evictionv1alpha1.EvictionStatus) {
		status.Responders[0].HeartbeatTime, status.Responders[0].Message = &metav1.Time{Time: time.Now()}, &message
	}
}

// fails ends the Eviction: nobody else comes.
func fails(status *evictionv1alpha1.EvictionStatus) {
	status.TargetResponders[0].State = evictionv1alpha1.ResponderStateCompleted
	for _, c := range []struct {
		name, reason string
		status       metav1.ConditionStatus
	}{
		{string(evictionv1alpha1.EvictionConditionTargetEvicted), string(evictionv1alpha1.EvictionConditionReasonEvictionFailed), metav1.ConditionFalse},
		{string(evictionv1alpha1.EvictionConditionFailed), string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder), metav1.ConditionTrue},
	} {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: c.name, Status: c.status, Reason: c.reason, LastTransitionTime: metav1.Now(),
		})
	}
}

func (s *scene) remove(pod *corev1.Pod) {
	s.Helper()
	s.must(s.clients.CoreV1().Pods(pod.Namespace).Delete(s.Context(), pod.Name, metav1.DeleteOptions{}))
}
