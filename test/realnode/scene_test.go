// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/test/harness"
)

// scene is a test's own part of the real node.
type scene struct {
	t    *testing.T
	env  *harness.Env
	node *harness.Node
	// machine is the node as the launcher knows it.
	machine nodeFacts
	// stories is a directory with what each pod has written.
	stories string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := emptyScene(t)
	s.start(installedDaemonSet(t, "install.yaml"), agentImage)
	return s
}

// emptyScene is one without an agent.
func emptyScene(t *testing.T) *scene {
	t.Helper()
	env, machine := realNode(t)
	stories, err := os.MkdirTemp("", "slipway-stories-")
	if err != nil {
		t.Fatal(err)
	}
	// What still writes there is ending: nothing that would have to fail the test, as with
	// t.TempDir.
	t.Cleanup(func() { _ = os.RemoveAll(stories) })
	s := &scene{t: t, env: env, machine: machine, stories: stories}
	s.node = env.Worker(t, nodeName, group)
	// Those of the last test may be ending still.
	harness.AwaitNone[*corev1.Pod](t, env, &corev1.PodList{}, client.MatchingFields{"spec.nodeName": nodeName})
	// A slipway-host that is gone for good has said what it does on the Node. Who uninstalls it takes that off.
	env.Kubectl(t, "annotate", "node", nodeName, staticpod.HostAnnotation+"-", shutdown.DelayAnnotation+"-")
	return s
}

// start puts a DaemonSet that people install onto the cluster. It differs in what this
// cluster lacks: a registry, and a way from pods to an API server that listens on the
// loopback interface.
func (s *scene) start(set *appsv1.DaemonSet, image string) {
	s.t.Helper()
	s.adapt(&set.Spec.Template.Spec, image)
	s.create(set)
	s.awaitDaemonSet(set)
}

// adapt has a pod run here, with an image of ours.
func (s *scene) adapt(pod *corev1.PodSpec, image string) {
	s.t.Helper()
	server, err := url.Parse(s.env.Server)
	if err != nil {
		s.t.Fatal(err)
	}
	pod.HostNetwork = true
	pod.NodeSelector = map[string]string{harness.GroupLabel: group}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.Image, c.ImagePullPolicy = image, corev1.PullNever
		c.Env = append(c.Env,
			corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: server.Hostname()},
			corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: server.Port()})
	}
}

// installedDaemonSet is that of a manifest in config.
func installedDaemonSet(t *testing.T, manifest string) *appsv1.DaemonSet {
	t.Helper()
	content, err := os.ReadFile(harness.File(t, "config", manifest))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range daemonSetsIn(string(content)) {
		return found
	}
	t.Fatalf("config/%s has no DaemonSet", manifest)
	return nil
}

// daemonSetsIn are those of a manifest.
func daemonSetsIn(manifest string) (sets []*appsv1.DaemonSet) {
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var found appsv1.DaemonSet
		if err := yaml.Unmarshal([]byte(document), &found); err == nil && found.Kind == "DaemonSet" {
			sets = append(sets, &found)
		}
	}
	return sets
}

// create creates an object that goes with the test.
func (s *scene) create(object client.Object) {
	s.t.Helper()
	if err := s.env.Client.Create(s.t.Context(), object); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.env.DeleteQuietly(object) })
}

func (s *scene) awaitDaemonSet(wanted *appsv1.DaemonSet) {
	s.t.Helper()
	harness.Await(s.t, s.env, "DaemonSet "+wanted.Name+" is ready", &appsv1.DaemonSetList{}, func(d *appsv1.DaemonSet) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.DesiredNumberScheduled == 1 && s.UpdatedNumberScheduled == 1 && s.NumberReady == 1
	}, harness.Named(wanted.Name), client.InNamespace(wanted.Namespace))
}

// workload is a pod of our program.
func (s *scene) workload(app string, grace int64, arguments ...string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{harness.GroupLabel: group},
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "main", Image: workloadImage, ImagePullPolicy: corev1.PullNever, Args: arguments,
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}},
					PeriodSeconds: 1,
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "story", MountPath: "/story"}},
			}},
			Volumes: []corev1.Volume{{
				Name: "story", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: s.stories}},
			}},
		},
	}
}

// deploy creates a Deployment of one such pod, and returns the pod when it is ready.
func (s *scene) deploy(app string, template corev1.PodTemplateSpec) *corev1.Pod {
	s.t.Helper()
	s.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template,
		},
	})
	return s.awaitPod(app)
}

// awaitPod waits until a pod of the app is ready.
func (s *scene) awaitPod(app string) *corev1.Pod {
	s.t.Helper()
	return s.awaitPodIn(metav1.NamespaceDefault, app)
}

func (s *scene) awaitPodIn(namespace, app string) *corev1.Pod {
	s.t.Helper()
	return harness.Await(s.t, s.env, "a pod of "+app+" is ready", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}, client.MatchingLabels{"app": app}, client.InNamespace(namespace))
}

// said is one line of what a pod has written.
type said struct {
	at   time.Time
	what string
}

// story is what a pod has written.
func (s *scene) story(pod *corev1.Pod) []said {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.stories, pod.Name))
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []said
	for line := range strings.Lines(string(content)) {
		at, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			s.t.Fatalf("the story of %s: %v", pod.Name, err)
		}
		lines = append(lines, said{at: when, what: what})
	}
	return lines
}

// wantStory wants these lines, and returns when each was written.
func (s *scene) wantStory(pod *corev1.Pod, want ...string) []time.Time {
	s.t.Helper()
	var got []string
	var times []time.Time
	for _, line := range s.story(pod) {
		got, times = append(got, line.what), append(times, line.at)
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("pod %s has said %q, want %q", pod.Name, got, want)
	}
	return times
}

// running are the containers that run by containerd's word, those that hold pods' namespaces
// included.
func (s *scene) running() []string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "ctr", "--address", s.machine.Socket, "--namespace", "k8s.io", "tasks", "list", "--quiet").Output()
	if err != nil {
		s.t.Fatalf("ask containerd what runs: %v", err)
	}
	return strings.Fields(string(out))
}

// containers are those of a pod, by the API's word.
func containers(pod *corev1.Pod) (ids []string) {
	for _, status := range pod.Status.ContainerStatuses {
		ids = append(ids, strings.TrimPrefix(status.ContainerID, "containerd://"))
	}
	return ids
}

// slipway is a command line of kubectl slipway.
func (s *scene) slipway(arguments ...string) *exec.Cmd {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), harness.Binary(s.t, "kubectl-slipway"),
		append([]string{"--kubeconfig=" + s.env.Kubeconfig}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG=")
	return command
}

// run runs a command line to its end, and wants an exit code.
func (s *scene) run(want int, arguments ...string) string {
	s.t.Helper()
	command := s.slipway(arguments...)
	out, _ := command.CombinedOutput() // its exit code is what counts
	if got := command.ProcessState.ExitCode(); got != want {
		s.t.Fatalf("kubectl slipway %s: exit code %d, want %d\n%s", strings.Join(arguments, " "), got, want, out)
	}
	return string(out)
}

// staticPod has the kubelet run a pod that the API has not asked for, and returns its
// mirror there.
func (s *scene) staticPod(app string, template corev1.PodTemplateSpec) *corev1.Pod {
	s.t.Helper()
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault, Labels: template.Labels}, Spec: template.Spec,
	}
	pod.Spec.NodeSelector = nil
	manifest, err := yaml.Marshal(pod)
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.machine.Manifests, app+".yaml")
	if err := os.WriteFile(path, manifest, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		for _, path := range []string{path, s.awayPath(app)} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				s.t.Error(err)
			}
		}
	})
	return s.awaitPod(app)
}
