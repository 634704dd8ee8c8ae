// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubectl/pkg/util/podutils"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
)

func TestATerminatingPodIsCountedUntilItIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	pod := s.pod(node, "slow", endsAfter(20))
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.await("the pod is terminating", func(st drain.Status) bool {
		return st.Message == "0 of 1 pods gone, 1 terminating, 0 blocked"
	})
	begin := time.Now()
	s.awaitGone(pod)
	w.wantDrained(node, 1)
	if took := time.Since(begin); took < 15*time.Second {
		t.Errorf("the pod ended after %s, so this has tested nothing", took)
	}
	s.wantEvictions(map[int]int{201: 1})
}

func TestAPodThatComesLateIsDrainedToo(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	slow := s.pod(node, "slow", endsAfter(5))
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.await("the only pod is terminating", func(st drain.Status) bool {
		return st.Message == "0 of 1 pods gone, 1 terminating, 0 blocked"
	})
	late := s.create(node, "late") // as if the scheduler had not seen the cordon
	s.awaitGone(late)
	s.awaitGone(slow)
	w.wantDrained(node, 2)
}

// The replacement of a StatefulSet's pod has the same name. Two Drainers at once make it likely that an eviction of the
// first one arrives when only the second one is there.
func TestAReplacementOfTheSameNameElsewhereIsNotTouched(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	node, elsewhere := s.nodes[0], s.nodes[1]
	s.cordon(elsewhere)
	_, err := s.admin.AppsV1().StatefulSets(s.namespace).Create(s.ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Template: template("db", s.nodes),
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.awaitPod("db-0", "ready on "+node, func(p *corev1.Pod) bool { return p.Spec.NodeName == node && podutils.IsPodReady(p) })
	first := s.getPod("db-0")
	_, err = s.admin.CoreV1().Nodes().Patch(s.ctx, elsewhere, "application/merge-patch+json", []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{})
	s.must(err)
	s.cordon(node)

	s.budget("db", "db", 1, 1)
	a, b := s.drain(s.drainer(node), node), s.drain(s.drainer(node), node)
	a.awaitBlocker("db-0", drain.BudgetImpossible, "db")
	b.awaitBlocker("db-0", drain.BudgetImpossible, "db")
	s.patchBudget("db", `{"spec":{"minAvailable":0}}`) // now both drains know the pod
	a.wantDrained(node, 1)
	b.wantDrained(node, 1)
	s.awaitPod("db-0", "ready on "+elsewhere, func(p *corev1.Pod) bool { return p.Spec.NodeName == elsewhere && podutils.IsPodReady(p) })
	second := s.getPod("db-0")
	if second.UID == first.UID || second.DeletionTimestamp != nil {
		t.Errorf("the replacement is %s, being deleted: %s; the first one was %s", second.UID, second.DeletionTimestamp, first.UID)
	}
}

func TestAFinalizerIsNamedWhenTheGracePeriodIsOver(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	pod := s.pod(node, "held", func(p *corev1.Pod) { p.Finalizers = []string{"example.test/hold"} })
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("held", drain.Terminating, "example.test/hold")
	s.patchPod("held", `{"metadata":{"finalizers":null}}`)
	s.awaitGone(pod)
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{201: 1})
}

func TestOnlyPodsInScopeLeave(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	_, err := s.admin.AppsV1().DaemonSets(s.namespace).Create(s.ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			Template: template("agent", s.nodes),
		},
	}, metav1.CreateOptions{})
	s.must(err)
	await(s, s.admin.AppsV1().DaemonSets(s.namespace), &appsv1.DaemonSet{}, "agent", "ready", func(d *appsv1.DaemonSet) bool {
		return d.Status.NumberReady == 1
	})
	s.create(node, "static", func(p *corev1.Pod) {
		p.Annotations[corev1.MirrorPodAnnotationKey] = "0123"
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	s.pod(node, "finished")
	s.patchPod("finished", `{"status":{"phase":"Succeeded"}}`, "status")
	s.pod(node, "bare")
	s.pod(node, "local", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	s.cordon(node)

	s.drain(s.drainer(node), node).wantDrained(node, 3)
	for _, r := range s.evictions(t, s.namespace) {
		switch r.ObjectRef.Name {
		case "finished", "bare", "local":
		default:
			t.Errorf("pod %s was evicted", r.ObjectRef.Name)
		}
	}
	if s.getPod("static") == nil {
		t.Error("the static pod is gone")
	}
}

func TestNothingIsEvictedBeforeTheCordon(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("", drain.NodeNotCordoned, node)
	if s.wantEvictions(map[int]int{}); t.Failed() {
		return
	}
	s.cordon(node)
	w.wantDrained(node, 1)
	got, err := s.admin.CoreV1().Nodes().Get(s.ctx, node, metav1.GetOptions{})
	s.must(err)
	if len(got.Spec.Taints) != 1 || got.Spec.Taints[0].Key != corev1.TaintNodeUnschedulable {
		t.Errorf("drained, but the node's taints are %v", got.Spec.Taints)
	}
}

// A watch each for the node, its pods and the budgets, an eviction for each pod, and the last look.
func TestADrainAsksForLittle(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	for i := range 5 {
		s.pod(node, fmt.Sprintf("pod-%d", i))
	}
	s.budget("web", "web", 0, 5)
	s.cordon(node)
	s.drain(s.drainer(node), node).wantDrained(node, 5)

	got, counted := map[string]int{}, map[string]bool{}
	for _, r := range s.requests(t, func(r request) bool {
		return r.ImpersonatedUser.Username == "system:node:"+node || r.ImpersonatedUser.Username == s.budgetReaderName()
	}) {
		if !counted[r.AuditID] {
			counted[r.AuditID] = true
			got[strings.TrimRight(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")]++
		}
	}
	want := map[string]int{
		"watch nodes": 1, "watch pods": 1, "watch poddisruptionbudgets": 1, "create pods/eviction": 5, "list pods": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want, +got):\n%s", diff)
	}
}

func TestARefusalByAdmissionIsReportedAndTriedAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "a")
	s.pod(node, "b", labelled("other"))
	s.refuseEvictionsOf("a")
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("a", drain.EvictionRefused, "")
	w.await("the other pod is gone", func(st drain.Status) bool { return st.Done == 1 })
	s.must(s.admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(s.ctx, s.namespace, metav1.DeleteOptions{}))
	w.wantDrained(node, 2)
}

// refuseEvictionsOf makes the API server refuse evictions of a pod, as a webhook would.
func (s *scene) refuseEvictionsOf(pod string) {
	s.t.Helper()
	admission := s.admin.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Create(s.ctx, &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "request.name != '" + pod + "'", Message: "not this one"}},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(s.ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: s.namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	// The server takes a moment to heed a policy, and no object says when it does.
	s.must(wait.PollUntilContextCancel(s.ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := s.admin.CoreV1().Pods(s.namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Name: pod},
			DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		})
		return err != nil, nil
	}))
}
