// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
)

func TestTheLadderEndsAtThePodThatItsBudgetKeeps(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	pod := s.pod(node, "db", labelled("db"), endsAfter(60))
	s.budget("db", "db", 1, 1)
	s.cordon(node)

	w := s.drain(s.drainer(node), node, func(r *drain.Request) {
		r.Escalation = drain.Escalation{DeleteAfter: 2 * time.Second, KillAfter: 3 * time.Second}
	})
	w.awaitBlocker("db", drain.BudgetImpossible, "db")
	s.awaitPod("db", "deleted with its own grace period", func(p *corev1.Pod) bool { return ptr.Deref(p.DeletionGracePeriodSeconds, 0) == 60 })
	s.awaitPod("db", "deleted with a grace period of 1 s", func(p *corev1.Pod) bool { return ptr.Deref(p.DeletionGracePeriodSeconds, 0) == 1 })
	w.awaitOverridden("db")
	s.awaitGone(pod)
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{})
	s.wantDeletions(node, "db", 2)
}

func TestWithoutALadderNothingIsDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "db", labelled("db"))
	s.budget("db", "db", 1, 1)
	s.cordon(node)

	w := s.drain(s.drainer(node), node, func(r *drain.Request) { r.PodTimeout = time.Second })
	w.awaitBlocker("db", drain.BudgetImpossible, "db")
	w.cancel(nil)
	_ = w.end()
	s.wantDeletions(node, "db", 0)
}

func TestPodsThatComeBackAgainAndAgainAreLeft(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.replicaSet("tolerant", node)
	s.cordon(node)

	w := s.drain(s.drainer(node), node)
	s.must(w.end())
	status, _ := w.status()
	if len(status.Left) != 1 || status.Left[0].Reason != drain.PodRecurring || status.Left[0].By != "ReplicaSet "+s.namespace+"/tolerant" {
		t.Errorf("left are %+v, want the pod that came back last", status.Left)
	}
	if want := "drained: 3 of 3 pods gone; left behind: 1 that return each time"; status.Message != want {
		t.Errorf("it says %q, want %q", status.Message, want)
	}
	// More may be refused: for a moment after a pod is bound, the cache of NodeRestriction
	// does not know yet that it is the node's.
	if evicted := s.evicted(); len(evicted) != 3 {
		t.Errorf("evicted are %v, want 3 pods", evicted)
	}
}

func TestThePodsOfADaemonSetLeaveIfTheyAreATarget(t *testing.T) {
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
	s.cordon(node)

	w := s.drain(s.drainer(node), node, func(r *drain.Request) {
		r.Targets = []drain.Target{{PodType: drain.PodTypeDaemonSet, PodPriority: new(int32(0))}}
	})
	s.must(w.end())
	if n := len(s.evicted()); n == 0 || n > 3 {
		t.Errorf("%d evictions, want one, and no more than the returns that are borne with", n)
	}
}

func TestTheEndWaitsForVolumes(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.claim("data")
	s.claim("logs")
	s.pod(node, "db", claiming("data"))
	s.pod(node, "agent", labelled("agent"), claiming("logs"))
	s.attach(node, s.volume("data"), s.volume("logs"))
	s.cordon(node)
	book := newRuleBook(ruleFor("agent", drain.Skip))

	w := s.drain(s.drainer(node, book.use), node)
	w.awaitBlocker("", drain.VolumeAttached, "kubernetes.io/csi/example.test^"+s.volume("data"))
	s.attach(node, s.volume("logs"))
	s.must(w.end())
	if status, _ := w.status(); len(status.Left) != 1 || status.Left[0].Reason != drain.PodSkipped {
		t.Errorf("left are %+v, want the agent alone", status.Left)
	}
}

func TestAVolumeThatStaysIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	node := s.nodes[0]
	s.pod(node, "db")
	s.attach(node, "stuck")
	s.cordon(node)

	w := s.drain(s.drainer(node), node, func(r *drain.Request) { r.VolumeTimeout = new(2 * time.Second) })
	w.awaitBlocker("", drain.VolumeAttached, "kubernetes.io/csi/example.test^stuck")
	s.must(w.end())
	status, _ := w.status()
	if want := "drained: 1 of 1 pods gone; left behind: 1 volumes still attached"; status.Message != want {
		t.Errorf("it says %q, want %q", status.Message, want)
	}
}

func TestANodeThatDoesNotReportIsTheReason(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0)
	node := "dark-" + s.namespace
	_, err := s.admin.CoreV1().Nodes().Create(s.ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.NodeSpec{Unschedulable: true},
	}, metav1.CreateOptions{})
	s.must(err)
	t.Cleanup(func() {
		_ = s.admin.CoreV1().Nodes().Delete(s.ctx, node, metav1.DeleteOptions{})
	})
	pod := s.create(node, "a")
	s.patchPod("a", `{"status":{"phase":"Running"}}`, "status")

	w := s.drain(s.drainer(node), node)
	w.awaitBlocker("a", drain.NodeNotReady, node)
	s.must(s.admin.CoreV1().Pods(s.namespace).Delete(s.ctx, "a", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	s.awaitGone(pod)
	w.wantDrained(node, 1)
	s.wantEvictions(map[int]int{201: 1})
}

// replicaSet starts a pod on this node that tolerates everything, and waits until it is ready.
func (s *scene) replicaSet(name, node string) {
	s.t.Helper()
	labels := map[string]string{"app": name}
	pods := template(name, []string{node})
	pods.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	_, err := s.admin.AppsV1().ReplicaSets(s.namespace).Create(s.ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pods},
	}, metav1.CreateOptions{})
	s.must(err)
	await(s, s.admin.AppsV1().ReplicaSets(s.namespace), &appsv1.ReplicaSet{}, name, "ready", func(r *appsv1.ReplicaSet) bool {
		return r.Status.ReadyReplicas == 1
	})
}

func (s *scene) volume(claim string) string { return s.namespace + "-" + claim }

// claim creates a claim that is bound to a volume of the same name.
func (s *scene) claim(name string) {
	s.t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	_, err := s.admin.CoreV1().PersistentVolumes().Create(s.ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.volume(name)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{Namespace: s.namespace, Name: name},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "example.test", VolumeHandle: s.volume(name),
			}},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.t.Cleanup(func() {
		_ = s.admin.CoreV1().PersistentVolumes().Delete(s.t.Context(), s.volume(name), metav1.DeleteOptions{})
	})
	claims := s.admin.CoreV1().PersistentVolumeClaims(s.namespace)
	_, err = claims.Create(s.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(""), VolumeName: s.volume(name), AccessModes: modes,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	await(s, claims, &corev1.PersistentVolumeClaim{}, name, "bound", func(c *corev1.PersistentVolumeClaim) bool {
		return c.Status.Phase == corev1.ClaimBound
	})
}

func claiming(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

// attach says on the node, as the controller of volumes does, which volumes are attached.
func (s *scene) attach(node string, volumes ...string) {
	s.t.Helper()
	attached := ""
	for _, v := range volumes {
		attached += fmt.Sprintf(`,{"name":"kubernetes.io/csi/example.test^%s","devicePath":""}`, v)
	}
	patch := `{"status":{"volumesAttached":[` + attached[1:] + `]}}`
	_, err := s.admin.CoreV1().Nodes().Patch(s.ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	s.must(err)
}

func (w *walk) awaitOverridden(pods ...string) {
	w.s.t.Helper()
	w.await("budgets are overridden", func(status drain.Status) bool {
		var names []string
		for _, pod := range status.Overridden {
			names = append(names, pod.Name)
		}
		return cmp.Equal(names, pods)
	})
}

// wantDeletions checks how many deletions of a pod the node has sent.
func (s *scene) wantDeletions(node, pod string, want int) {
	s.t.Helper()
	got := s.requests(s.t, func(r request) bool {
		return r.Verb == "delete" && r.ObjectRef.Resource == "pods" && r.ObjectRef.Namespace == s.namespace &&
			r.ObjectRef.Name == pod && r.ImpersonatedUser.Username == "system:node:"+node && r.Stage == "ResponseComplete"
	})
	if len(got) != want || slices.ContainsFunc(got, func(r request) bool { return r.ResponseStatus.Code != 200 }) {
		s.t.Errorf("deletions by the node: %+v, want %d that succeed", got, want)
	}
}
