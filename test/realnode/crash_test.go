// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"bytes"
	"os/exec"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

// What may crash while a pod takes its time to end: the drain goes on, and the pod has
// noticed nothing.
func TestACrashDuringADrain(t *testing.T) {
	cases := map[string]struct {
		// app is a name of its own: what the last test has left may be ending still.
		app   string
		crash func(*scene)
	}{
		"of the kubelet": {app: "patient", crash: func(s *scene) {
			s.killKubelet()
			s.startKubelet()
		}},
		"of the agent": {app: "calm", crash: func(s *scene) {
			agent := s.agent()
			s.kill(containers(agent)[0])
			s.awaitRestart(agent, "node-agent")
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			slow := s.deploy(tc.app, s.workload(tc.app, 60, "-ends-in=10s"))
			drain := s.slipway("drain", nodeName)
			var out bytes.Buffer
			drain.Stdout, drain.Stderr = &out, &out
			if err := drain.Start(); err != nil {
				t.Fatal(err)
			}
			harness.Await(t, s.env, "the slow pod is ending", &corev1.PodList{}, func(p *corev1.Pod) bool {
				return p.DeletionTimestamp != nil
			}, harness.Named(slow.Name), client.InNamespace(metav1.NamespaceDefault))
			tc.crash(s)
			if err := drain.Wait(); err != nil {
				t.Fatalf("the drain: %v\n%s", err, &out)
			}
			story := s.story(slow)
			if last := story[len(story)-1]; last.what != "ended" {
				t.Errorf("the slow pod could not end as it wanted to: %v", story)
			}
			checkDrained(t, s, []*corev1.Pod{slow}, nil)
			s.run(0, "uncordon", nodeName)
		})
	}
}

// killKubelet ends the kubelet at once; its containers go on.
func (s *scene) killKubelet() { s.launch("stop", "kubelet@"+nodeName, "--kill") }

// startKubelet starts it again, as its supervisor would.
func (s *scene) startKubelet() { s.launch("start", "kubelet@"+nodeName) }

func (s *scene) launch(arguments ...string) {
	s.t.Helper()
	if _, err := launcher(append(arguments, "--dir", s.env.Dir)...); err != nil {
		s.t.Fatal(err)
	}
}

// agent is the agent's pod, when it runs.
func (s *scene) agent() *corev1.Pod {
	s.t.Helper()
	return harness.Await(s.t, s.env, "the agent's pod runs", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.Spec.NodeName == nodeName && p.Spec.ServiceAccountName == "slipway-node-agent" && len(containers(p)) == 1
	}, client.InNamespace(devcluster.Namespace))
}

// kill ends a container at once.
func (s *scene) kill(container string) {
	s.t.Helper()
	kill := exec.CommandContext(s.t.Context(), "ctr", "--address", s.machine.Socket, "--namespace", "k8s.io",
		"tasks", "kill", "--signal", "SIGKILL", container)
	if out, err := kill.CombinedOutput(); err != nil {
		s.t.Fatalf("kill container %s: %v: %s", container, err, out)
	}
}

// awaitRestart waits until a container of the pod, as it was seen, was started again.
func (s *scene) awaitRestart(pod *corev1.Pod, container string) {
	s.t.Helper()
	before := pod.Status.ContainerStatuses[indexOf(pod, container)].RestartCount
	harness.Await(s.t, s.env, container+" was started again", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.UID == pod.UID && slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.Name == container && c.RestartCount > before && c.State.Running != nil
		})
	}, client.InNamespace(pod.Namespace))
}
