// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubectldrain "k8s.io/kubectl/pkg/drain"

	surgeroom "github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// startUp is how long the pods of most tests take to become Ready.
const startUp = 500 * time.Millisecond

// cases are told on a server of either kind.
var cases = map[string]func(*scene){
	"a single replica moves without a moment without a Ready pod": func(s *scene) { s.moves() },
	"the same under an autoscaler": func(s *scene) {
		a := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: app}}
		a.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: app}
		a.Spec.MinReplicas, a.Spec.MaxReplicas = new(int32(1)), 3
		_, err := s.clients.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).Create(s.t.Context(), a, metav1.CreateOptions{})
		s.must(err)
		s.moves()
	},
	"the same beside a process that resets replicas every second": func(s *scene) {
		resets := 0
		s.run(s.t, func(ctx context.Context) error {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for {
				patch := []byte(`{"spec":{"replicas":1}}`)
				if _, err := s.clients.AppsV1().Deployments(s.namespace).Patch(ctx, app, types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
					resets++
				}
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return nil
				}
			}
		})
		s.moves(func(d *appsv1.Deployment) { slowly(d, 4*time.Second) })
	},
	"kubectl drain of the same workload never ends": func(s *scene) {
		node := s.node("a")
		s.deploy(1, startUp, 1)
		old := s.pods.now()[0]
		s.node("b")
		s.cordon(node)
		var said strings.Builder
		ctx, stop := context.WithTimeout(s.t.Context(), 12*time.Second) // it tries every 5 s
		defer stop()
		helper := &kubectldrain.Helper{
			Ctx: ctx, Client: s.clients, Force: true, IgnoreAllDaemonSets: true, GracePeriodSeconds: -1, Out: &said, ErrOut: &said,
			Timeout: 11 * time.Second,
		}
		err := kubectldrain.RunNodeDrain(helper, node)
		if err == nil {
			s.t.Error("kubectl has drained the node")
		}
		if refusals := strings.Count(said.String(), "Cannot evict pod as it would violate the pod's disruption budget"); refusals < 2 {
			s.t.Errorf("it was refused %d times: %v\n%s", refusals, err, said.String())
		}
		s.ask(old)
		s.pods.awaitGone(old)
		s.pods.awaitKept(1)
		s.neverFewerThan(1)
	},
	"for many replicas all replacements start at once": func(s *scene) {
		const many = 10
		node := s.node("a")
		// None is Ready, so that none of the old may go, before the last has been started.
		d := s.deploy(many, 20*time.Second, many-1)
		all := s.pods.now()
		s.node("b")
		s.cordon(node)
		for _, pod := range all {
			s.ask(pod)
		}
		s.pods.await("all are being replaced", func(now pods) bool { return len(now) == 2*many && len(now.where(isMarked)) == many })
		for _, pod := range all {
			s.pods.awaitGone(pod)
		}
		s.pods.awaitKept(many)
		s.neverFewerThan(many)
		s.untouched(d)
	},
	"a surge that is cancelled gives the pod back": func(s *scene) {
		d, old := s.stuck()
		s.withdraw(old)
		s.givenBack(old)
		s.untouched(d)
	},
	"a surge that is cancelled when the replacement is Ready": func(s *scene) {
		s.node("a")
		s.deploy(1, startUp, 1)
		// This budget is not met by a replacement, so that the evictor waits.
		s.budget(metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable = new(intstr.FromInt(9))
		})
		old := s.pods.now()[0]
		s.ask(old)
		s.pods.await("the replacement is Ready", func(all pods) bool { return len(all.where(isReady)) == 2 })
		s.withdraw(old)
		s.pods.awaitKept(1)
		s.neverFewerThan(1)
	},
	"a rollout that begins gets its pod back": func(s *scene) {
		_, old := s.stuck()
		s.change(func(d *appsv1.Deployment) { d.Spec.Template.Annotations["slipway.test/version"] = "2" })
		s.pods.await("it is given back", func(all pods) bool { return all.named(old.Name) != nil && isKept(all.named(old.Name)) })
		next := s.pods.await("the rollout has a pod", func(all pods) bool {
			return len(all.where(func(p *corev1.Pod) bool { return isNewVersion(p) && begun(p) })) == 1
		}).where(isNewVersion)[0]
		s.makeReady(next.Name)
		s.pods.awaitGone(old)
		if now := s.pods.awaitKept(1); now[0].Name != next.Name {
			s.t.Errorf("what is there is %s, and not %s", now[0].Name, next.Name)
		}
		s.neverFewerThan(1)
	},
	"a pod is left alone while a rollout goes on": func(s *scene) {
		s.node("a")
		s.deploy(1, never, 1)
		old := s.pods.now()[0]
		s.change(func(d *appsv1.Deployment) { d.Spec.Template.Annotations["slipway.test/version"] = "2" })
		s.pods.await("the rollout has a pod", func(all pods) bool { return len(all.where(isNewVersion)) == 1 })
		s.ask(old)
		s.awaitSaid(old, "no replacement was started: Deployment web rolls out another template")
		if now := s.pods.now(); len(now) != 2 || len(now.where(isKept)) != 2 {
			s.t.Errorf("there are %d pods", len(now))
		}
	},
	"a replacement that does not get Ready": func(s *scene) {
		d, old := s.stuck(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(15)) })
		s.awaitSaid(old, "is not Ready")
		s.givenBack(old)
		s.untouched(d)
	},
	"a replacement that cannot be scheduled": func(s *scene) {
		node := s.node("a")
		d := s.deploy(2, startUp, 2, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(15)) })
		all := s.pods.now()
		s.cordon(node)
		s.ask(all[0])
		s.pods.await("the replacement is there", func(now pods) bool { return len(now.where(unschedulable)) == 1 })
		s.ask(all[1]) // begins nothing
		for _, pod := range all {
			s.awaitSaid(pod, "cannot be scheduled: ")
		}
		s.pods.awaitKept(2)
		s.neverFewerThan(2)
		s.untouched(d)
		for _, pod := range all {
			if s.pods.now().named(pod.Name) == nil {
				s.t.Errorf("pod %s is gone", pod.Name)
			}
		}
	},
	"a Deployment that is deleted in the middle": func(s *scene) {
		s.stuck()
		s.must(s.clients.AppsV1().Deployments(s.namespace).Delete(s.t.Context(), app, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		s.pods.await("no pod is left", func(all pods) bool { return len(all) == 0 })
	},
	"a Deployment that is deleted without its pods": func(s *scene) {
		_, old := s.stuck()
		s.must(s.clients.AppsV1().Deployments(s.namespace).Delete(s.t.Context(), app, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}))
		s.givenBack(old)
	},
	"a pod that a Service selects by its template is left alone": func(s *scene) {
		s.node("a")
		s.deploy(1, startUp, 1)
		old := s.pods.now()[0]
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "canary"}}
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		service.Spec.Selector = map[string]string{surgeroom.LabelHash: old.Labels[surgeroom.LabelHash]}
		_, err := s.clients.CoreV1().Services(s.namespace).Create(s.t.Context(), service, metav1.CreateOptions{})
		s.must(err)
		s.ask(old)
		s.awaitSaid(old, "no replacement was started: Service canary selects it by pod-template-hash")
		s.pods.awaitKept(1)
	},
	"a pod that says no in a namespace that says yes": func(s *scene) {
		s.node("a")
		s.deploy(1, startUp, 0, func(d *appsv1.Deployment) { d.Spec.Template.Labels[surgeroom.Responder] = "false" })
		old := s.pods.now()[0]
		s.ask(old)
		s.pods.awaitGone(old)
		list, err := s.clients.LifecycleV1alpha1().Evictions(s.namespace).List(s.t.Context(), metav1.ListOptions{})
		s.must(err)
		if len(list.Items) != 1 || len(list.Items[0].Status.TargetResponders) != 1 {
			s.t.Errorf("there are other responders than the last: %v", list.Items)
		}
	},
	"a workload whose budget can never allow an eviction needs no label": func(s *scene) {
		_, err := s.clients.CoreV1().Namespaces().Patch(s.t.Context(), s.namespace, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"slipway.dev/surge":null}}}`), metav1.PatchOptions{})
		s.must(err)
		s.moves()
	},
}

// moves has a single replica evicted whose budget does not allow it.
func (s *scene) moves(edits ...func(*appsv1.Deployment)) {
	s.t.Helper()
	node := s.node("a")
	d := s.deploy(1, startUp, 1, edits...)
	old := s.pods.now()[0]
	s.node("b")
	s.cordon(node)
	s.ask(old)
	s.pods.awaitGone(old)
	s.pods.awaitKept(1)
	s.neverFewerThan(1)
	s.untouched(d)
}

// stuck is a single replica that was released, and whose replacement does not get Ready.
func (s *scene) stuck(edits ...func(*appsv1.Deployment)) (*appsv1.Deployment, *corev1.Pod) {
	s.t.Helper()
	s.node("a")
	d := s.deploy(1, never, 1, edits...)
	old := s.pods.now()[0]
	s.ask(old)
	s.pods.await("the replacement has begun", func(all pods) bool { return len(all.where(isMarked)) == 1 && len(all.where(begun)) == 2 })
	return d, old
}

// givenBack waits until the pod is its ReplicaSet's again, and there is no other.
func (s *scene) givenBack(old *corev1.Pod) {
	s.t.Helper()
	if now := s.pods.awaitKept(1); now[0].UID != old.UID {
		s.t.Errorf("what is there is %s, and not %s", now[0].Name, old.Name)
	}
	s.neverFewerThan(1)
}

func (s *scene) neverFewerThan(ready int) {
	s.t.Helper()
	if got := s.pods.fewestReady(); got < ready {
		s.t.Errorf("at one moment, %d pods were Ready", got)
	}
}

func isNewVersion(pod *corev1.Pod) bool { return pod.Annotations["slipway.test/version"] == "2" }

func unschedulable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// slowly makes the pods take longer to become Ready.
func slowly(d *appsv1.Deployment, ready time.Duration) {
	for _, key := range []string{readyDelay, readyJitter} {
		d.Spec.Template.Annotations[key] = ready.String()
	}
}
