// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/slipway-k8s/slipway/drain"
)

// fakeServer answers evictions as a test says, which a real server cannot be made to do at will. It runs in the virtual
// time of a synctest bubble, so that tests of long pauses take none.
type fakeServer struct {
	*fake.Clientset
	t *testing.T

	mu     sync.Mutex
	answer func(*policyv1.Eviction) error // nil: the pod goes at once
	asked  []asked
	// onEvict, if set, takes the place of all that.
	onEvict func(context.Context) error
}

type asked struct {
	at       time.Time
	eviction *policyv1.Eviction
}

func newFakeServer(t *testing.T, objects ...runtime.Object) *fakeServer {
	return &fakeServer{Clientset: fake.NewClientset(objects...), t: t}
}

// CoreV1 answers evictions by itself: what the fake clientset is taught runs under its lock, one call at a time.
func (s *fakeServer) CoreV1() corev1client.CoreV1Interface {
	return fakeCore{s.Clientset.CoreV1(), s}
}

type fakeCore struct {
	corev1client.CoreV1Interface
	server *fakeServer
}

func (c fakeCore) Pods(namespace string) corev1client.PodInterface {
	return fakePods{c.CoreV1Interface.Pods(namespace), c.server}
}

type fakePods struct {
	corev1client.PodInterface
	server *fakeServer
}

func (p fakePods) EvictV1(ctx context.Context, e *policyv1.Eviction) error {
	if p.server.onEvict != nil {
		return p.server.onEvict(ctx)
	}
	return p.server.evict(e)
}

// latency is how long an eviction takes. Virtual time passes only when all has come to rest, so an eviction changes
// nothing before the watches are open; the fake clientset forgets what happens between their list and their beginning.
const latency = time.Millisecond

func (s *fakeServer) evict(e *policyv1.Eviction) error {
	<-time.After(latency)
	s.mu.Lock()
	s.asked = append(s.asked, asked{time.Now(), e})
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		if err := answer(e); err != nil {
			return err
		}
	}
	s.remove(e.Name)
	return nil
}

func (s *fakeServer) answerWith(answer func(*policyv1.Eviction) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *fakeServer) evictions() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *fakeServer) remove(pod string) {
	if err := s.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", pod); err != nil {
		s.t.Errorf("remove pod %s: %v", pod, err)
	}
}

func (s *fakeServer) put(object runtime.Object) {
	resource := map[bool]string{true: "nodes", false: "pods"}
	_, isNode := object.(*corev1.Node)
	namespace := map[bool]string{false: "default"}[isNode]
	gvr := corev1.SchemeGroupVersion.WithResource(resource[isNode])
	if err := s.Tracker().Update(gvr, object, namespace); err != nil {
		if err := s.Tracker().Create(gvr, object, namespace); err != nil {
			s.t.Errorf("put %T: %v", object, err)
		}
	}
}

// draining is a Drain that runs in the bubble of a test.
type draining struct {
	t      *testing.T
	cancel context.CancelCauseFunc
	result chan error

	mu      sync.Mutex
	last    drain.Status
	reports int
}

func startDrain(t *testing.T, s *fakeServer, change ...func(*drain.Config, *drain.Request)) *draining {
	t.Helper()
	config, request := drain.Config{Pods: s.CoreV1(), Budgets: s.PolicyV1()}, drain.Request{NodeName: "w1"}
	for _, c := range change {
		c(&config, &request)
	}
	drainer, err := drain.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return startDrainOf(t, drainer, request)
}

func startDrainOf(t *testing.T, drainer *drain.Drainer, request drain.Request) *draining {
	ctx, cancel := context.WithCancelCause(t.Context())
	d := &draining{t: t, cancel: cancel, result: make(chan error, 1)}
	go func() { d.result <- drainer.Drain(ctx, request, d.report) }()
	pass(2 * latency)
	return d
}

func (d *draining) report(s drain.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = s
	d.reports++
}

func (d *draining) status() drain.Status {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *draining) reasons() []drain.Reason {
	var reasons []drain.Reason
	for _, b := range d.status().Blockers {
		reasons = append(reasons, b.Reason)
	}
	return reasons
}

func (d *draining) wantReasons(want ...drain.Reason) {
	d.t.Helper()
	if got := d.reasons(); !slices.Equal(got, want) {
		d.t.Errorf("blockers: got %v, want %v", got, want)
	}
}

// wantRunning fails if the Drain has returned.
func (d *draining) wantRunning() {
	d.t.Helper()
	synctest.Wait()
	select {
	case err := <-d.result:
		d.t.Fatalf("the drain has returned: %v", err)
	default:
	}
}

// end waits for the Drain, for a virtual hour at most.
func (d *draining) end() error {
	d.t.Helper()
	select {
	case err := <-d.result:
		return err
	case <-time.After(time.Hour):
		d.t.Fatalf("the drain does not end; %+v", d.status())
		return nil
	}
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func fakeNode(change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "node"},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			Taints:        []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(node)
	}
	return node
}

func fakePod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "w1"},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func fakeBudget(name string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ExpectedPods: 5, CurrentHealthy: 5, DesiredHealthy: 4},
	}
}
