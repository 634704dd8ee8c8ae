// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// The kubelet, the agent and slipway-host are killed in the middle of a shutdown, all at the same
// time, so that none of them finds another: the drain goes on, the machine waits for the last pod,
// and gets no new ones. The logind is a stand-in; who keeps its lock is the container that people
// install.
func TestAShutdownInWhichEverythingIsKilled(t *testing.T) {
	s := newScene(t)
	s.env.Controller(t, "leader", "").AwaitLeading()
	machine := logind.Start(t, time.Hour)
	host := s.startHost(machine, installedDaemonSet(t, "install-host.yaml"))
	machine.AwaitLocks(1)
	lasting, enough := s.deployLasting("lasting")

	down := machine.Shutdown()
	event := harness.Await(t, s.env, "there is an event for the shutdown", &lifecyclev1alpha1.LifecycleEventList{},
		func(e *lifecyclev1alpha1.LifecycleEvent) bool {
			return e.Spec.BindingNode == nodeName && e.Spec.TransitionName == shutdown.Transition
		})
	harness.Await(t, s.env, "the last pod is ending", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil
	}, harness.Named(lasting.Name), client.InNamespace(lasting.Namespace))

	agent := s.agent()
	s.killKubelet()
	s.kill(containers(agent)[0])
	s.kill(containers(host)[indexOf(host, "slipway-host")])
	s.stillUp("all but the keeper are dead", machine, down)
	s.startKubelet()
	s.awaitRestart(agent, "node-agent")
	s.awaitRestart(host, "slipway-host")
	s.stillUp("all are back", machine, down)

	tolerant := s.noNewPods("lasting", lasting)
	s.stillUp("new pods wait", machine, down)
	enough()
	if how := machine.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	s.checkGone(lasting)
	s.wantStory(lasting, "started", "asked to end", "ended")
	s.env.AwaitEventGone(t, event.Name)
	s.checkOnlyDaemons()

	// It comes back at the last moment, and takes pods again.
	machine.CallOff()
	for _, app := range []string{"lasting", tolerant.Name} {
		s.awaitPod(app)
	}
	s.node.Await("says nothing of a shutdown any more", func(n *corev1.Node) bool {
		_, labelled := n.Labels[shutdown.Label]
		return shutdown.AnnouncedOn(n) == nil && shutdown.DrainedOn(n) == nil && !labelled && !n.Spec.Unschedulable
	})
	machine.AwaitLocks(1)
	s.wantRestarts(host, 1) // that which it was killed for
}

const refusal = "the machine of node " + nodeName + " is being shut down"

// Pods of DaemonSets have their hooks and their time, when all others are gone: those of the system
// last. What their DaemonSets put in their place waits until the machine is back.
func TestAShutdownEndsThePodsOfDaemonSetsLast(t *testing.T) {
	s := newScene(t)
	s.env.Controller(t, "leader", "").AwaitLeading()
	machine := logind.Start(t, time.Hour)
	s.startHost(machine, installedDaemonSet(t, "install-host.yaml"))
	machine.AwaitLocks(1)
	lasting, enough := s.deployLasting("lasting")
	const hook, slowness = time.Second, time.Second
	logs := s.daemonOf("logs", metav1.NamespaceDefault, withHook(s.workload("logs", 30, "-ends-in="+slowness.String()), hook))
	critical := s.workload("network", 30)
	critical.Spec.PriorityClassName = "system-node-critical"
	network := s.daemonOf("network", metav1.NamespaceSystem, critical)

	down := machine.Shutdown()
	s.awaitEnding(lasting)
	enough()
	if how := machine.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	for _, pod := range []*corev1.Pod{lasting, logs, network} {
		s.checkGone(pod)
	}
	first := s.wantStory(lasting, "started", "asked to end", "ended")
	second := s.wantStory(logs, "started", "hook begun", "hook ended", "asked to end", "ended")
	third := s.wantStory(network, "started", "asked to end", "ended")
	if second[1].Before(first[2]) || third[1].Before(second[4]) || second[4].Sub(second[1]) < hook+slowness {
		t.Errorf("the pods ended at %v, %v and %v", first, second, third)
	}
	s.awaitUnscheduled("logs", logs.Name, refusal)
	s.awaitUnscheduledIn(network.Namespace, "network", network.Name, refusal)

	machine.CallOff() // it comes back at the last moment
	s.awaitPod("logs")
	s.awaitPodIn(network.Namespace, "network")
}

// A budget keeps a pod until logind waits no longer: the pod of a DaemonSet does not wait for that.
func TestAShutdownLeavesTimeForThePodsOfDaemonSets(t *testing.T) {
	s := newScene(t)
	s.env.Controller(t, "leader", "").AwaitLeading()
	machine := logind.Start(t, 20*time.Second)
	s.startHost(machine, installedDaemonSet(t, "install-host.yaml"))
	machine.AwaitLocks(1)
	kept := s.deploy("kept", s.workload("kept", 1))
	s.create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: kept.Labels},
		},
	})
	logs := s.daemonOf("logs", metav1.NamespaceDefault, withHook(s.workload("logs", 8), time.Second))

	if how := machine.AwaitDown(machine.Shutdown()); how != logind.LimitReached {
		t.Errorf("the machine went down: %s", how)
	}
	s.wantStory(kept, "started")
	s.wantStory(logs, "started", "hook begun", "hook ended", "asked to end", "ended")
	machine.CallOff()
	s.awaitPod("logs")
	s.node.Await("takes pods again", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
}

// awaitEnding waits until the pod is asked to end.
func (s *scene) awaitEnding(pod *corev1.Pod) {
	s.t.Helper()
	harness.Await(s.t, s.env, pod.Name+" is ending", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil
	}, harness.Named(pod.Name), client.InNamespace(pod.Namespace))
}

// indexOf is which of the pod's containers that is.
func indexOf(pod *corev1.Pod, container string) int {
	return slices.IndexFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == container })
}

// deployLasting deploys a pod that ends when enough is called, and not before.
func (s *scene) deployLasting(app string) (pod *corev1.Pod, enough func()) {
	s.t.Helper()
	pipe := filepath.Join(s.stories, "enough")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { // where it waits still, and for those in its place
		if end, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			_ = os.Remove(pipe)
			_ = end.Close()
		}
	})
	const grace = 600 // longer than any test: no clock is to end it
	pod = s.deploy(app, s.workload(app, grace, "-ends-with=/story/enough"))
	return pod, func() {
		s.t.Helper()
		if err := os.WriteFile(pipe, []byte("enough"), 0); err != nil { // which waits for the pod to read
			s.t.Fatal(err)
		}
	}
}

// stillUp is that the machine has not gone down: somebody has its lock.
func (s *scene) stillUp(when string, machine *logind.StandIn, down <-chan logind.Ending) {
	s.t.Helper()
	select {
	case how := <-down:
		s.t.Fatalf("%s: the machine went down: %s", when, how)
	default:
		machine.AwaitLocks(1)
	}
}

// noNewPods wants that no pod comes to the node, whichever way: neither in the place of the one
// that goes, nor one that tolerates the cordon, which is returned, nor one past the scheduler.
func (s *scene) noNewPods(app string, gone *corev1.Pod) *corev1.Pod {
	s.t.Helper()
	s.awaitUnscheduled(app, gone.Name, "unschedulable")
	template := s.workload("tolerant", 1)
	tolerant := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "tolerant", Namespace: metav1.NamespaceDefault, Labels: template.Labels}, Spec: template.Spec,
	}
	tolerant.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
	s.create(tolerant)
	s.awaitUnscheduled(tolerant.Name, "", refusal)

	direct := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "direct", Namespace: metav1.NamespaceDefault, Labels: template.Labels}, Spec: template.Spec,
	}
	direct.Spec.NodeName = nodeName
	if err := s.env.Client.Create(s.t.Context(), direct); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), refusal) {
		s.t.Errorf("a pod that is created on the node: %v", err)
	}
	return tolerant
}

// awaitUnscheduled waits until the scheduler says why a pod of the app is on no node.
func (s *scene) awaitUnscheduled(app, not, why string) {
	s.t.Helper()
	s.awaitUnscheduledIn(metav1.NamespaceDefault, app, not, why)
}

func (s *scene) awaitUnscheduledIn(namespace, app, not, why string) {
	s.t.Helper()
	harness.Await(s.t, s.env, "a pod of "+app+" is on no node: "+why, &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.Name != not && p.Spec.NodeName == "" && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, why)
		})
	}, client.MatchingLabels{"app": app}, client.InNamespace(namespace))
}

// checkGone wants that nothing is left of a pod, for the API and on the machine.
func (s *scene) checkGone(pod *corev1.Pod) {
	s.t.Helper()
	var left corev1.Pod
	if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(pod), &left); !apierrors.IsNotFound(err) {
		s.t.Errorf("pod %s is left: %v", pod.Name, err)
	}
	if isSubset(containers(pod), s.running()) {
		s.t.Errorf("containers of pod %s run", pod.Name)
	}
}

// checkOnlyDaemons wants that the node has the pods of DaemonSets, and no others.
func (s *scene) checkOnlyDaemons() {
	s.t.Helper()
	var pods corev1.PodList
	if err := s.env.Client.List(s.t.Context(), &pods, client.MatchingFields{"spec.nodeName": nodeName}); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range pods.Items {
		if owner := metav1.GetControllerOf(&p); owner == nil || owner.Kind != "DaemonSet" {
			s.t.Errorf("pod %s/%s is on the node", p.Namespace, p.Name)
		}
	}
}
