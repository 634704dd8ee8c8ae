// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/test/harness"
)

const responder = "example.com/backup"

// scene is two nodes of a test's own, and an event of the first, claimed by its agent: by
// the test, with the agent's credentials.
type scene struct {
	*ground
	t         *testing.T
	node      *harness.Node
	other     *harness.Node
	event     *lifecyclev1alpha1.LifecycleEvent
	agent     client.Client
	namespace string
}

func (g *ground) scene(t *testing.T) *scene {
	t.Helper()
	s := &scene{ground: g, t: t, node: g.env.Node(t, "a"), other: g.env.Node(t, "b"), namespace: g.env.Namespace(t, nil).Name}
	in := apigroup.In(g.env.Group)
	agent, err := client.New(s.node.Credentials(), client.Options{Scheme: in.Scheme(), Mapper: in.Mapper()})
	s.must(err)
	s.agent = agent
	s.claim("drain")
	return s
}

// claim creates an event and claims it.
func (s *scene) claim(what string) {
	s.t.Helper()
	s.event = s.node.Event(s.node.EventName(what), harness.Drain, harness.Kept)
	s.node.Expect(harness.Unfinished(s.event.Name), "there is no agent that winds it up")
	s.t.Cleanup(func() { s.env.StripFinalizers(s.t, s.event) })
	s.write(func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.ClaimStatus = lifecyclev1alpha1.Claimed
		status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: s.node.Name}
	})
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// write changes the status of the event, as the agent of its node.
func (s *scene) write(change func(*lifecyclev1alpha1.LifecycleEventStatus)) {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var e lifecyclev1alpha1.LifecycleEvent
		if err := s.agent.Get(s.t.Context(), client.ObjectKeyFromObject(s.event), &e); err != nil {
			return err
		}
		change(&e.Status)
		return s.agent.Status().Update(s.t.Context(), &e)
	}))
}

// leave names pods to be left to responders, and no others.
func (s *scene) leave(pods ...*corev1.Pod) {
	s.t.Helper()
	s.write(func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.LeftToResponders = nil
		for _, p := range pods {
			status.LeftToResponders = append(status.LeftToResponders,
				lifecyclev1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
		}
	})
}

// pod is a pod on a node, for which somebody responds.
func (s *scene) pod(node *harness.Node, name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	s.t.Helper()
	template := harness.PodSpec(name, "", harness.PodOptions{})
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = s.namespace, name
	pod.Spec.NodeSelector, pod.Spec.NodeName = nil, node.Name
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, evictionrequest.AnnotationResponders, responder+":20000")
	for _, edit := range edits {
		edit(pod)
	}
	s.must(s.env.Client.Create(s.t.Context(), pod))
	return pod
}

// awaitRequest waits until there is a request for the pod that is as wanted.
func (s *scene) awaitRequest(pod *corev1.Pod, what string, wanted func(*evictionv1alpha1.EvictionRequest) bool) *evictionv1alpha1.EvictionRequest {
	s.t.Helper()
	return harness.Await(s.t, s.env, "EvictionRequest for "+pod.Name+" "+what, &evictionv1alpha1.EvictionRequestList{},
		func(r *evictionv1alpha1.EvictionRequest) bool { return r.Spec.Target.Pod.UID == pod.UID && wanted(r) }, client.InNamespace(s.namespace))
}

func (s *scene) awaitAsked(pod *corev1.Pod) *evictionv1alpha1.EvictionRequest {
	s.t.Helper()
	return s.awaitRequest(pod, "wants it to be evicted", func(r *evictionv1alpha1.EvictionRequest) bool {
		return r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction && r.DeletionTimestamp == nil
	})
}

// awaitActive waits until it is the responder's turn.
func (s *scene) awaitActive(pod *corev1.Pod) {
	s.t.Helper()
	harness.Await(s.t, s.env, responder+" is Active for "+pod.Name, &evictionv1alpha1.EvictionList{}, func(e *evictionv1alpha1.Eviction) bool {
		for _, r := range e.Status.TargetResponders {
			if r.Name == responder && e.Spec.Target.Pod.UID == pod.UID {
				return r.State == evictionv1alpha1.ResponderStateActive
			}
		}
		return false
	}, client.InNamespace(s.namespace))
}

// untilCanceled begins to watch the Evictions of pods: those that are canceled are soon gone. The
// answer waits until the responder was told, of each, that nobody wants it.
func (s *scene) untilCanceled(pods ...*corev1.Pod) (await func()) {
	s.t.Helper()
	w, err := s.env.Client.Watch(s.t.Context(), &evictionv1alpha1.EvictionList{}, client.InNamespace(s.namespace))
	s.must(err)
	s.t.Cleanup(w.Stop)
	missing := map[types.UID]string{}
	for _, p := range pods {
		missing[p.UID] = p.Name
	}
	return func() {
		s.t.Helper()
		timeout := time.NewTimer(harness.Patience)
		defer timeout.Stop()
		for len(missing) > 0 {
			select {
			case event := <-w.ResultChan():
				if e, ok := event.Object.(*evictionv1alpha1.Eviction); ok && isCanceled(e) {
					delete(missing, e.Spec.Target.Pod.UID)
				}
			case <-timeout.C:
				s.t.Fatalf("the evictions of %v are not canceled", missing)
			}
		}
	}
}

func isCanceled(e *evictionv1alpha1.Eviction) bool {
	failed := apimeta.FindStatusCondition(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
	return failed != nil && failed.Reason == string(evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters)
}

func (s *scene) awaitNoRequests() {
	s.t.Helper()
	harness.AwaitNone[*evictionv1alpha1.EvictionRequest](s.t, s.env, &evictionv1alpha1.EvictionRequestList{}, client.InNamespace(s.namespace))
}

// requests are all of the namespace.
func (s *scene) requests() []evictionv1alpha1.EvictionRequest {
	s.t.Helper()
	var all evictionv1alpha1.EvictionRequestList
	s.must(s.env.Client.List(s.t.Context(), &all, client.InNamespace(s.namespace)))
	return all.Items
}

// asked are the names of the pods for which there are requests.
func (s *scene) asked() map[string]bool {
	s.t.Helper()
	names := map[string]bool{}
	for _, r := range s.requests() {
		names[r.Spec.Target.Pod.Name] = true
	}
	return names
}

// untilDeleted begins to watch the only request there is. The answer waits until it is
// deleted, and is what it has wanted by then.
func (s *scene) untilDeleted() (intents func() []evictionv1alpha1.EvictionRequestIntent) {
	s.t.Helper()
	w, err := s.env.Client.Watch(s.t.Context(), &evictionv1alpha1.EvictionRequestList{}, client.InNamespace(s.namespace))
	s.must(err)
	s.t.Cleanup(w.Stop)
	return func() (all []evictionv1alpha1.EvictionRequestIntent) {
		for e := range w.ResultChan() {
			if e.Type == watch.Deleted {
				break
			}
			if r, ok := e.Object.(*evictionv1alpha1.EvictionRequest); ok {
				all = append(all, r.Spec.Intent)
			}
		}
		return slices.Compact(all)
	}
}

// nodeUID is the UID of the event's node.
func (s *scene) nodeUID() types.UID {
	s.t.Helper()
	var node corev1.Node
	s.must(s.env.Client.Get(s.t.Context(), client.ObjectKey{Name: s.node.Name}, &node))
	return node.UID
}
