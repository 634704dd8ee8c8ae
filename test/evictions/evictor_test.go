// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/eviction/evictor"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// TestTheResponderThatComesLast runs with the controller, and with the responder that evicts, on a cluster of either kind.
func TestTheResponderThatComesLast(t *testing.T) {
	for _, p := range []place{{"built in", true}, {"CRDs", false}} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, p)
			g.control(t, clock.RealClock{})
			last := &lastResponder{t: t, ground: g}
			last.start()
			t.Cleanup(func() { last.stop() })
			for name, test := range lastCases {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(g.scene(t), last)
				})
			}
		})
	}
}

// lastResponder is an evictor that can be stopped and started again.
type lastResponder struct {
	*ground
	t    *testing.T
	stop func()
}

func (l *lastResponder) start() {
	l.t.Helper()
	e, err := evictor.New(l.config(), clock.RealClock{}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx); err != nil {
			l.t.Error(err)
		}
	})
	l.stop = func() { cancel(); running.Wait() }
}

var lastCases = map[string]func(*scene, *lastResponder){
	"a pod without responders of its own": func(s *scene, _ *lastResponder) {
		s.ask("a", s.pod("p"))
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
	},
	"a pod whose own responder has not made it go": func(s *scene, _ *lastResponder) {
		pod := s.pod("p", responder(backup, 20000))
		s.ask("a", pod)
		s.awaitActive("pod-1-p", backup)
		s.wantEvictions("p", 0)
		s.must(s.respond("pod-1-p", backup, completed(clock.RealClock{}.Now())))
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.wantEvictions("p", 1)
	},
	"a pod whose budget allows it only after a restart": func(s *scene, last *lastResponder) {
		pod := s.serving("p")
		s.budget(1)
		s.ask("a", pod)
		s.awaitMessage("pod-1-p", "waiting: budget guard wants all of its 1 pods healthy")
		s.wantEvictions("p", 0)
		last.stop()
		last.start()
		s.allow()
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.wantEvictions("p", 1)
	},
	"a pod that nobody wants gone any more, while it waits for its budget": func(s *scene, _ *lastResponder) {
		kept, other := s.serving("kept"), s.serving("other")
		s.budget(2)
		s.ask("a", kept)
		s.awaitMessage("pod-1-kept", "waiting: budget guard wants all of its 2 pods healthy")
		s.withdraw("a")
		s.awaitTold("a", failed, evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters)
		s.allow()
		s.ask("b", other)
		s.awaitTold("b", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		s.wantEvictions("kept", 0)
		got, err := s.clients.CoreV1().Pods(s.namespace).Get(s.t.Context(), "kept", metav1.GetOptions{})
		if err != nil || got.UID != kept.UID || got.DeletionTimestamp != nil {
			s.t.Errorf("the pod is %v, deleted at %v (%v)", got.UID, got.DeletionTimestamp, err)
		}
	},
	"a static pod": func(s *scene, _ *lastResponder) {
		s.ask("a", s.static("p"))
		s.awaitTold("a", failed, evictionv1alpha1.EvictionConditionReasonNoFurtherResponder)
		s.awaitMessage("pod-1-p", "failed: the pod cannot be evicted: the kubelet of node")
		s.wantEvictions("p", 0)
	},
}

// serving is a pod that runs and is ready, as its status says.
func (s *scene) serving(name string) *corev1.Pod {
	s.t.Helper()
	pods := s.clients.CoreV1().Pods(s.namespace)
	pod := s.pod(name)
	_, err := pods.Patch(s.t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`), metav1.PatchOptions{})
	s.must(err)
	_, err = pods.Patch(s.t.Context(), name, types.MergePatchType,
		[]byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
	s.must(err)
	return pod
}

// static is a pod that a kubelet runs from a file.
func (s *scene) static(name string) *corev1.Pod {
	s.t.Helper()
	nodes, err := s.clients.CoreV1().Nodes().List(s.t.Context(), metav1.ListOptions{Limit: 1})
	s.must(err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "0123"}}}
	pod.Spec.NodeName = nodes.Items[0].Name
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/none"}}
	pod, err = s.clients.CoreV1().Pods(s.namespace).Create(s.t.Context(), pod, metav1.CreateOptions{})
	s.must(err)
	return pod
}

// budget wants all of the serving pods, and is there when that is known.
func (s *scene) budget(pods int32) {
	s.t.Helper()
	budgets := s.clients.PolicyV1().PodDisruptionBudgets(s.namespace)
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "guard"}}
	pdb.Spec.MinAvailable = new(intstr.FromInt32(pods))
	pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	_, err := budgets.Create(s.t.Context(), pdb, metav1.CreateOptions{})
	s.must(err)
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	lister := cache.NewListWatchFromClient(s.clients.PolicyV1().RESTClient(), "poddisruptionbudgets", s.namespace, fields.Everything())
	_, err = watchtools.UntilWithSync(ctx, lister, &policyv1.PodDisruptionBudget{}, nil, func(e watch.Event) (bool, error) {
		pdb, ok := e.Object.(*policyv1.PodDisruptionBudget)
		return ok && pdb.Status.CurrentHealthy == pods, nil
	})
	s.must(err)
}

// allow lets the budget allow everything.
func (s *scene) allow() {
	s.t.Helper()
	_, err := s.clients.PolicyV1().PodDisruptionBudgets(s.namespace).Patch(s.t.Context(), "guard", types.MergePatchType,
		[]byte(`{"spec":{"minAvailable":0}}`), metav1.PatchOptions{})
	s.must(err)
}

// awaitMessage waits until the responder that comes last says so.
func (s *scene) awaitMessage(eviction, beginning string) {
	s.t.Helper()
	s.awaitEviction(eviction, evictionrequest.Evictor+" says "+beginning, func(e *evictionv1alpha1.Eviction) bool {
		return slices.ContainsFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool {
			return r.Name == evictionrequest.Evictor && r.Message != nil && strings.HasPrefix(*r.Message, beginning)
		})
	})
}

// wantEvictions checks how often the server was asked for the eviction of a pod.
func (s *scene) wantEvictions(pod string, want int) {
	s.t.Helper()
	requests, err := auditlog.ReadFile(s.env.AuditLog)
	s.must(err)
	asked := slices.DeleteFunc(requests, func(r auditlog.Request) bool {
		return r.Subresource != "eviction" || r.Namespace != s.namespace || r.Name != pod
	})
	if len(asked) != want {
		s.t.Errorf("pod %s: %d evictions were asked for, want %d: %v", pod, len(asked), want, asked)
	}
}
