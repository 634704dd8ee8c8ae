// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// hostContainer is that of slipway-host in its pod, beside its keeper; its DaemonSet and its account
// have the same name.
const hostContainer = "slipway-host"

// startHost puts slipway-host onto the cluster, as people install it, with the given logind in the
// place of the machine's. A kubelet that does not like its liveness kills it within seconds.
func (s *scene) startHost(machine *logind.StandIn, hosts *appsv1.DaemonSet) *corev1.Pod {
	s.t.Helper()
	s.env.Kubectl(s.t, "apply", "--server-side", "-f", harness.File(s.t, "config", "rbac", "host"), "-f", harness.File(s.t, "config", "admission", "host"))
	pod := &hosts.Spec.Template.Spec
	s.adapt(pod, hostImage)
	const health = 8082 // in the node's network, the agent has 8081
	main := &pod.Containers[0]
	main.Args = append(main.Args, fmt.Sprintf("--health-probe-bind-address=:%d", health))
	for i := range main.Ports {
		main.Ports[i].ContainerPort, main.Ports[i].HostPort = health, health
	}
	main.LivenessProbe.PeriodSeconds, main.LivenessProbe.FailureThreshold, main.LivenessProbe.TimeoutSeconds = 1, 3, 20
	for i := range pod.Volumes {
		if v := &pod.Volumes[i]; v.Name == "system-bus" {
			v.HostPath.Path = machine.Socket
		}
	}
	s.create(hosts)
	s.awaitDaemonSet(hosts)
	return s.hostPod()
}

// hostWithStaticPods is the DaemonSet for who has asked for static pods, that stops at a fault point.
func (s *scene) hostWithStaticPods(controlPlane bool, faultPoint string) *appsv1.DaemonSet {
	s.t.Helper()
	values := fmt.Sprintf(`{"host": {"enabled": true, "runAsUser": 0, "staticPods": {"enabled": true, "path": %q, "controlPlane": %v}}}`,
		s.machine.Manifests, controlPlane)
	sets := daemonSetsIn(harness.Rendered(s.t, harness.Renderer(s.t), values))
	i := slices.IndexFunc(sets, func(d *appsv1.DaemonSet) bool { return d.Name == hostContainer })
	if i < 0 {
		s.t.Fatal("the chart has no DaemonSet of slipway-host")
	}
	main := &sets[i].Spec.Template.Spec.Containers[0]
	main.Env = append(main.Env, corev1.EnvVar{Name: "SLIPWAY_FAULTPOINT", Value: faultPoint})
	return sets[i]
}

// hostPod is that of slipway-host, as it is when it runs.
func (s *scene) hostPod() *corev1.Pod {
	s.t.Helper()
	return harness.Await(s.t, s.env, "slipway-host runs", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.Spec.ServiceAccountName == hostContainer && p.DeletionTimestamp == nil && len(containers(p)) == 2 &&
			!slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running == nil })
	}, client.InNamespace(devcluster.Namespace))
}

// stopsNextAt has slipway-host begin anew, to stop at another fault point, and returns its pod.
func (s *scene) stopsNextAt(faultPoint string, hosts *appsv1.DaemonSet) *corev1.Pod {
	s.t.Helper()
	s.env.Kubectl(s.t, "--namespace="+hosts.Namespace, "set", "env", "daemonset/"+hosts.Name, "--containers="+hostContainer, "SLIPWAY_FAULTPOINT="+faultPoint)
	s.awaitDaemonSet(hosts)
	return s.hostPod()
}

// killHostAt kills slipway-host at a moment between two of its steps, and waits until it is back. It
// returns its pod then.
func (s *scene) killHostAt(point string, pod *corev1.Pod) *corev1.Pod {
	s.t.Helper()
	s.hostLog(pod).AwaitFaultPoint(point)
	s.kill(containers(pod)[indexOf(pod, hostContainer)])
	s.awaitRestart(pod, hostContainer)
	return s.hostPod()
}

// hostLog follows what the container of slipway-host that runs says.
func (s *scene) hostLog(pod *corev1.Pod) *harness.Process {
	s.t.Helper()
	life := pod.Status.ContainerStatuses[indexOf(pod, hostContainer)].RestartCount
	path := filepath.Join(filepath.Dir(s.machine.Manifests), "pod-logs",
		fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID), hostContainer, fmt.Sprintf("%d.log", life))
	return harness.StartProcess(s.t, "log of "+pod.Name, nil, "tail", "--lines=+1", "--follow=name", "--retry", path)
}

// wantRestarts wants that the container of slipway-host was killed so often: by the test, and not by
// a kubelet that takes it for dead.
func (s *scene) wantRestarts(pod *corev1.Pod, want int32) {
	s.t.Helper()
	var now corev1.Pod
	if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
		s.t.Fatal(err)
	}
	if c := now.Status.ContainerStatuses[indexOf(&now, hostContainer)]; c.RestartCount != want {
		s.t.Errorf("slipway-host was started again %d times, want %d; at last because of %+v", c.RestartCount, want, c.LastTerminationState.Terminated)
	}
}
