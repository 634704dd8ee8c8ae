// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	notReturned = "a node that was drained stays cordoned until it is returned, which is not part of this test"
	// person is somebody with the role view, which Slipway's viewer is a part of: not even
	// Nodes may they read.
	person = "explain-person"
)

// scene is a node with one pod, of which a drain is held up.
type scene struct {
	*testing.T

	env  *harness.Env
	node *harness.Node
	// app is a name of the scene's own, and the label of its pods.
	app   string
	pod   *corev1.Pod
	event string
}

var sceneOnce sync.Once

func newScene(t *testing.T, app string, kubelet bool) *scene {
	t.Helper()
	env := harness.Shared(t)
	sceneOnce.Do(func() {
		env.Kubectl(t, "create", "clusterrolebinding", person, "--clusterrole=view", "--user="+person)
	})
	s := &scene{T: t, env: env, app: app}
	s.node = s.newNode(kubelet)
	s.node.Expect(harness.CordonLeft, notReturned)
	s.event = s.node.EventName("drain")
	return s
}

// newNode is a node with somebody who plays its kubelet, or one where nobody does.
func (s *scene) newNode(kubelet bool) *harness.Node {
	s.Helper()
	if kubelet {
		return s.env.Node(s.T, s.app)
	}
	node := &corev1.Node{ // with room for the agent's pod
		ObjectMeta: metav1.ObjectMeta{Name: s.app},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}},
	}
	if err := s.env.Client.Create(s.Context(), node); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.env.DeleteQuietly(node) })
	return s.env.Worker(s.T, s.app, s.app)
}

// drain starts the agent and asks for a drain.
func (s *scene) drain(change ...func(*lifecyclev1alpha1.LifecycleEvent)) {
	s.Helper()
	s.node.Agent("")
	s.ask(change...)
}

func (s *scene) ask(change ...func(*lifecyclev1alpha1.LifecycleEvent)) {
	s.Helper()
	s.node.Event(s.event, harness.Drain, append([]func(*lifecyclev1alpha1.LifecycleEvent){harness.Kept, harness.SLA(20 * time.Minute)}, change...)...)
}

// hasPod creates a pod on the scene's node.
func (s *scene) hasPod(change ...func(*corev1.Pod)) *corev1.Pod {
	s.Helper()
	s.pod = s.podOn(s.node, harness.PodOptions{Gone: time.Second}, change...)
	return s.pod
}

// podOn creates a pod of the scene.
func (s *scene) podOn(node *harness.Node, options harness.PodOptions, change ...func(*corev1.Pod)) *corev1.Pod {
	s.Helper()
	template := harness.PodSpec(s.app, "", options)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = metav1.NamespaceDefault, s.app+"-"
	pod.Spec.NodeSelector, pod.Spec.NodeName = nil, node.Name
	for _, f := range change {
		f(pod)
	}
	if err := s.env.Client.Create(s.Context(), pod); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.env.DeleteQuietly(pod) })
	if options.Ready < time.Minute {
		node.AwaitReady(pod)
	}
	return pod
}

// awaitBlocker waits until the event is held up for this reason.
func (s *scene) awaitBlocker(reason string) {
	s.Helper()
	s.env.AwaitEvent(s.T, s.event, "is held up: "+reason, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return blocked(e, reason) })
}

// awaitNoBlocker waits until it is not any more.
func (s *scene) awaitNoBlocker(reason string) {
	s.Helper()
	s.env.AwaitEvent(s.T, s.event, "is not held up any more: "+reason, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return !blocked(e, reason) })
}

func blocked(e *lifecyclev1alpha1.LifecycleEvent, reason string) bool {
	return slices.ContainsFunc(e.Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool { return b.Reason == reason })
}

// explain runs the command as a person does, and returns the cause with this code.
func (s *scene) explain(code string) explain.Cause {
	s.Helper()
	command := exec.CommandContext(s.Context(), harness.Binary(s.T, "kubectl-slipway"),
		"explain", s.node.Name, "-o", "json", "--kubeconfig="+s.env.Facts.Kubeconfig, "--as="+person)
	var out, trouble bytes.Buffer
	command.Stdout, command.Stderr = &out, &trouble
	if err := command.Run(); err != nil {
		s.Fatalf("kubectl slipway explain %s: %v\n%s", s.node.Name, err, trouble.String())
	}
	var report explain.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		s.Fatalf("%v in\n%s", err, out.String())
	}
	for _, c := range report.Causes {
		if c.Code == code && c.Event == s.event {
			return c
		}
	}
	s.Fatalf("explain does not name %s:\n%s", code, out.String())
	return explain.Cause{}
}

// look runs the commands of a cause that only read, as they are printed.
func (s *scene) look(c explain.Cause) {
	s.Helper()
	if len(c.Remedies) == 0 {
		s.Errorf("%s: nothing is proposed", c.Code)
	}
	for _, r := range c.Remedies {
		for _, reads := range []string{" get ", " describe ", " auth can-i "} {
			if strings.Contains(r.Command, reads) {
				s.env.Shell(s.T, r.Command)
			}
		}
	}
}

// do runs the command of a cause with this in it, as it is printed.
func (s *scene) do(c explain.Cause, part string) {
	s.Helper()
	for _, r := range c.Remedies {
		if strings.Contains(r.Command, part) {
			s.env.Shell(s.T, r.Command)
			return
		}
	}
	s.Fatalf("%s: no command with %q is proposed, but %+v", c.Code, part, c.Remedies)
}

// succeeds waits until the event has succeeded.
func (s *scene) succeeds() {
	s.Helper()
	if ended := s.env.Outcome(s.T, s.event); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		s.Errorf("the event is %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
}

// named puts the names of the scene into a text.
func (s *scene) named(text string) string {
	pod := ""
	if s.pod != nil {
		pod = s.pod.Name
	}
	return strings.NewReplacer("APP", s.app, "NODE", s.node.Name, "POD", pod, "EVENT", s.event).Replace(text)
}

// apply creates what a text says, and removes it when the test ends.
func (s *scene) apply(manifest string) {
	s.Helper()
	manifest = s.named(manifest)
	s.env.KubectlWith(s.T, manifest, "apply", "-f", "-")
	s.Cleanup(func() { s.tidy(manifest, "delete", "--ignore-not-found", "--wait=false", "-f", "-") })
}

// tidy runs kubectl when the test has ended.
func (s *scene) tidy(input string, arguments ...string) {
	s.Helper()
	command := exec.Command(s.env.Facts.Kubectl, append([]string{"--kubeconfig=" + s.env.Facts.Kubeconfig}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	if out, err := command.CombinedOutput(); err != nil {
		s.Errorf("clean up: kubectl %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// applied is nil where the API server takes what a text says.
func (s *scene) applied(manifest string) error {
	command := exec.CommandContext(s.Context(), s.env.Facts.Kubectl, "--kubeconfig="+s.env.Facts.Kubeconfig, "apply", "-f", "-")
	command.Stdin = strings.NewReader(s.named(manifest))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (s *scene) kubectl(format string, args ...any) string {
	s.Helper()
	return s.env.Shell(s.T, "kubectl "+s.named(fmt.Sprintf(format, args...)))
}
