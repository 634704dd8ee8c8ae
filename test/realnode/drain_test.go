// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What a drain leaves of pods that are processes: each had the signal and the time that it
// is promised, and is gone when the drain says so. What stays has not noticed.
func TestADrainOfProcesses(t *testing.T) {
	s := newScene(t)
	const slowness, grace, hook = 3 * time.Second, 2 * time.Second, time.Second
	slow := s.deploy("slow", s.workload("slow", 30, "-ends-in="+slowness.String()))
	stubborn := s.deploy("stubborn", s.workload("stubborn", int64(grace.Seconds()), "-ignores"))
	hooked := s.deploy("hooked", withHook(s.workload("hooked", 30), hook))
	scratched := s.deploy("scratched", withScratch(s.workload("scratched", 30, "-scratch=/scratch/file")))
	static := s.staticPod("static", s.workload("static", 1))
	watcher := s.daemon("watcher")

	out := s.run(1, "drain", nodeName, "--reason=new firmware")
	if !strings.Contains(out, scratched.Name) || !strings.Contains(out, "--delete-emptydir-data") {
		t.Errorf("the drain that is refused does not name pod %s and the flag that lets it go:\n%s", scratched.Name, out)
	}
	for _, pod := range []*corev1.Pod{slow, stubborn, hooked, scratched} {
		s.wantStory(pod, "started")
	}

	s.run(0, "drain", nodeName, "--delete-emptydir-data", "--reason=new firmware")
	checkDrained(t, s, []*corev1.Pod{slow, stubborn, hooked, scratched}, []*corev1.Pod{static, watcher})

	times := s.wantStory(slow, "started", "asked to end", "ended")
	if took := times[2].Sub(times[1]); took < slowness {
		t.Errorf("the slow pod took %s to end, and not its %s", took, slowness)
	}
	times = s.wantStory(hooked, "started", "hook begun", "hook ended", "asked to end", "ended")
	if took := times[3].Sub(times[1]); took < hook {
		t.Errorf("the pod with a hook was asked to end %s after its hook had begun, which takes %s", took, hook)
	}
	s.wantStory(scratched, "started", "asked to end", "scratch kept", "ended")
	checkKilled(t, s, stubborn, grace)
	s.wantStory(static, "started")
	s.wantStory(watcher, "started")

	s.run(0, "uncordon", nodeName)
	s.node.Await("takes pods again", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	for _, app := range []string{"slow", "stubborn", "hooked", "scratched"} {
		back := s.awaitPod(app)
		if back.Spec.NodeName != nodeName || !isSubset(containers(back), s.running()) {
			t.Errorf("%s is not back on the node: %+v", app, back.Status)
		}
		s.wantStory(back, "started")
	}
}

// checkDrained looks at the node right after the drain has said that it is done.
func checkDrained(t *testing.T, s *scene, gone, stayed []*corev1.Pod) {
	t.Helper()
	running := s.running()
	for _, pod := range gone {
		for _, id := range containers(pod) {
			if slices.Contains(running, id) {
				t.Errorf("container %s of pod %s runs", id, pod.Name)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(s.machine.Manifests), "kubelet", "pods", string(pod.UID), "volumes", "kubernetes.io~empty-dir", "scratch", "file")); err == nil {
			t.Errorf("the content of the emptyDir volume of pod %s is still there", pod.Name)
		}
	}
	for _, pod := range stayed {
		if !isSubset(containers(pod), running) {
			t.Errorf("pod %s, which was to stay, does not run: %v of %v", pod.Name, containers(pod), running)
		}
	}
	var node corev1.Node
	if err := s.env.Client.Get(t.Context(), client.ObjectKey{Name: nodeName}, &node); err != nil {
		t.Fatal(err)
	}
	if !node.Spec.Unschedulable {
		t.Error("the node is not cordoned")
	}
	// Containers of their own, and one that holds the pod's namespaces; the agent's pod is there as
	// well.
	want := 2
	for _, pod := range stayed {
		want += len(containers(pod)) + 1
	}
	if len(running) != want {
		t.Errorf("%d containers run, want %d: %v", len(running), want, running)
	}
}

// checkKilled wants that the pod was alive until its grace period was over, and not much
// longer.
func checkKilled(t *testing.T, s *scene, pod *corev1.Pod, grace time.Duration) {
	t.Helper()
	story := s.story(pod)
	asked := slices.IndexFunc(story, func(line said) bool { return line.what == "asked to end" })
	if asked < 0 {
		t.Fatalf("pod %s was not asked to end: %v", pod.Name, story)
	}
	last := story[len(story)-1]
	const slack = 500 * time.Millisecond // between two of its lines there is a tenth of a second
	if lived := last.at.Sub(story[asked].at); last.what != "alive" || lived < grace-slack {
		t.Errorf("pod %s lived for %s when it was asked to end, and has %s; its last word was %q", pod.Name, lived, grace, last.what)
	}
}

func isSubset(some, all []string) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// withHook gives a pod a hook that runs before it is asked to end.
func withHook(template corev1.PodTemplateSpec, takes time.Duration) corev1.PodTemplateSpec {
	template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
		Exec: &corev1.ExecAction{Command: []string{"/workload", "hook", takes.String()}},
	}}
	return template
}

// withScratch gives a pod an emptyDir volume.
func withScratch(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	const name = "scratch"
	template.Spec.Volumes = append(template.Spec.Volumes,
		corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	main := &template.Spec.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/scratch"})
	return template
}

// daemon creates a DaemonSet of our program, and returns its pod.
func (s *scene) daemon(app string) *corev1.Pod {
	s.t.Helper()
	return s.daemonOf(app, metav1.NamespaceDefault, s.workload(app, 1))
}

func (s *scene) daemonOf(app, namespace string, template corev1.PodTemplateSpec) *corev1.Pod {
	s.t.Helper()
	daemon := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template,
		},
	}
	s.create(daemon)
	s.awaitDaemonSet(daemon)
	return s.awaitPodIn(namespace, app)
}
