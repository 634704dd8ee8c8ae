// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// What the descheduler and who moves pods by themselves have agreed on: the pod says that an
// eviction only begins something, the webhook answers 429 with words that say it has begun,
// and the pod says so as long as it goes on.
const (
	requestEvictOnly   = "descheduler.alpha.kubernetes.io/request-evict-only"
	evictionInProgress = "descheduler.alpha.kubernetes.io/eviction-in-progress"
	hasBegun           = "Eviction triggered evacuation"
)

// webhookCases are told with the responder that comes last at work, and with a webhook that
// moves pods, as that of virtual machines does.
var webhookCases = map[string]func(*scene, *mover){
	"the webhook lets the pod go when it was moved": func(s *scene, m *mover) {
		s.ask("a", s.pod("p"))
		m.await("p", 3)
		m.hasMoved("p")
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted)
		m.wantPauses("p", 4)
	},
	"the pod ends by itself when it was moved, beside a descheduler": func(s *scene, m *mover) {
		pod := s.annotated(s.pod("p"), requestEvictOnly)
		if !s.deschedule("p") {
			s.t.Fatal("the descheduler was not told that its eviction goes on")
		}
		m.await("p", 1)
		s.ask("a", pod)
		m.await("p", 3)
		if s.deschedule("p") {
			s.t.Error("the pod does not say any more that its eviction goes on")
		}
		pod.Status.Phase = corev1.PodSucceeded
		patch := []byte(`{"status":{"phase":"Succeeded"}}`)
		_, err := s.clients.CoreV1().Pods(s.namespace).Patch(s.t.Context(), "p", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		s.must(err)
		s.awaitTold("a", evicted, evictionv1alpha1.EvictionConditionReasonPodTerminal)
		now, err := s.clients.CoreV1().Pods(s.namespace).Get(s.t.Context(), "p", metav1.GetOptions{})
		s.must(err)
		for _, name := range []string{requestEvictOnly, evictionInProgress} {
			if _, there := now.Annotations[name]; !there {
				s.t.Errorf("annotation %s is gone", name)
			}
		}
	},
}

// deschedule does what the descheduler does about a pod, and says whether it has asked and
// was told that the eviction goes on. A pod that says so already is left alone.
func (s *scene) deschedule(name string) bool {
	s.t.Helper()
	pod, err := s.clients.CoreV1().Pods(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	s.must(err)
	if _, goesOn := pod.Annotations[evictionInProgress]; goesOn {
		return false
	}
	err = s.clients.CoreV1().Pods(s.namespace).EvictV1(s.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return apierrors.IsTooManyRequests(err) && strings.Contains(err.Error(), hasBegun)
}

func (s *scene) annotated(pod *corev1.Pod, annotation string) *corev1.Pod {
	s.t.Helper()
	patch := []byte(`{"metadata":{"annotations":{"` + annotation + `":""}}}`)
	pod, err := s.clients.CoreV1().Pods(s.namespace).Patch(s.t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(err)
	return pod
}

// mover is a webhook that refuses evictions until the pod was moved.
type mover struct {
	*scene
	server *httptest.Server

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, with each eviction
	asked   map[string][]time.Time
	moved   map[string]bool
}

// mover has evictions in the namespace of the scene asked for at a webhook.
func (s *scene) mover() *mover {
	s.t.Helper()
	m := &mover{scene: s, changed: make(chan struct{}), asked: map[string][]time.Time{}, moved: map[string]bool{}}
	m.server = httptest.NewTLSServer(m)
	s.t.Cleanup(m.server.Close)
	webhooks := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := webhooks.Create(s.t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "moves.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &m.server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	s.must(err)
	m.awaitHeeded()
	return m
}

// awaitHeeded returns when the server heeds the webhook. It takes a moment, and no object
// says when it does.
func (m *mover) awaitHeeded() {
	m.t.Helper()
	m.pod("canary")
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	m.must(wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return m.clients.CoreV1().Pods(m.namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Name: "canary"},
			DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		}) != nil, nil
	}))
}

// ServeHTTP answers for one eviction.
func (m *mover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID}
	if dry := review.Request.DryRun; dry == nil || !*dry {
		review.Response.Allowed = m.wasAsked(r.Context(), review.Request.Name)
	}
	if !review.Response.Allowed {
		review.Response.Result = &metav1.Status{
			Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: hasBegun + " of the machine in " + review.Request.Name,
		}
	}
	if err := json.NewEncoder(w).Encode(review); err != nil {
		m.t.Errorf("answer the server: %v", err)
	}
}

// wasAsked notes an eviction, begins to move the pod, and says whether it was moved.
func (m *mover) wasAsked(ctx context.Context, pod string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[pod] = append(m.asked[pod], time.Now())
	close(m.changed)
	m.changed = make(chan struct{})
	if len(m.asked[pod]) == 1 {
		patch := []byte(`{"metadata":{"annotations":{"` + evictionInProgress + `":""}}}`)
		if _, err := m.clients.CoreV1().Pods(m.namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			m.t.Errorf("say that pod %s is being moved: %v", pod, err)
		}
	}
	return m.moved[pod]
}

func (m *mover) hasMoved(pod string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved[pod] = true
}

// await waits until the eviction of a pod was asked for so many times.
func (m *mover) await(pod string, times int) {
	m.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		m.mu.Lock()
		asked, changed := len(m.asked[pod]), m.changed
		m.mu.Unlock()
		if asked >= times {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			m.t.Fatalf("the eviction of pod %s was asked for %d times, want %d", pod, asked, times)
		}
	}
}

// wantPauses wants that an eviction was asked for so many times, with pauses that grow: of
// one second, then of two, of which half is left to chance.
func (m *mover) wantPauses(pod string, times int) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked[pod]
	if len(asked) != times {
		m.t.Errorf("the eviction of pod %s was asked for %d times, want %d", pod, len(asked), times)
	}
	least := time.Second / 2
	for i := 1; i < len(asked); i++ {
		if pause := asked[i].Sub(asked[i-1]); pause < least-100*time.Millisecond {
			m.t.Errorf("pod %s: pause %d was %s, want %s at least", pod, i, pause, least)
		}
		least *= 2
	}
}

// TestAWebhookThatMovesPods has evictions refused until pods were moved, as virtual machines
// are: who retries gets there, and who speaks the descheduler's protocol goes on to.
func TestAWebhookThatMovesPods(t *testing.T) {
	t.Parallel()
	g := newGround(t, place{"built in", true})
	g.control(t, clock.RealClock{})
	last := &lastResponder{t: t, ground: g}
	last.start()
	t.Cleanup(func() { last.stop() })
	for name, test := range webhookCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := g.scene(t)
			test(s, s.mover())
		})
	}
}
