// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/harness"
)

// The command lines that Kubernetes documents for a drain: in the help of kubectl, whose
// node is foo, and on the pages of its site.
func documented(t *testing.T, env *harness.Env) []string {
	t.Helper()
	lines := []string{
		"kubectl drain --ignore-daemonsets foo",                                // tasks/administer-cluster/safely-drain-node
		"kubectl drain foo --ignore-daemonsets",                                // tasks/administer-cluster/kubeadm/kubeadm-upgrade
		"kubectl drain foo",                                                    // concepts/architecture/nodes, reference/kubectl
		"kubectl drain foo --delete-emptydir-data --force --ignore-daemonsets", // setup/.../create-cluster-kubeadm
	}
	for line := range strings.Lines(env.Kubectl(t, "drain", "--help")) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "kubectl drain foo") {
			lines = append(lines, line)
		}
	}
	return lines
}

var flagOfKubectl = regexp.MustCompile(`(?m)^    (?:-\w, )?--([a-z-]+)=`)

func TestEachFlagOfKubectlDrainAndUncordonIsAFlagHere(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	page, err := os.ReadFile(harness.File(t, "docs/how-to/from-kubectl-drain.md"))
	if err != nil {
		t.Fatal(err)
	}
	for verb, atLeast := range map[string]int{"drain": 11, "uncordon": 2} {
		here, _ := run(t, env, 0, verb, "--help")
		flags := flagOfKubectl.FindAllStringSubmatch(env.Kubectl(t, verb, "--help"), -1)
		if len(flags) < atLeast {
			t.Errorf("kubectl %s has fewer flags than known: %q", verb, flags)
		}
		for _, flag := range flags {
			if !strings.Contains(here, "--"+flag[1]+" ") && !strings.Contains(here, "--"+flag[1]+"[") {
				t.Errorf("kubectl slipway %s has no flag --%s", verb, flag[1])
			}
			if !strings.Contains(string(page), "`--"+flag[1]+"`") {
				t.Errorf("the page does not say what becomes of --%s", flag[1])
			}
		}
	}
}

// pods are kinds of pods that kubectl drain tells apart.
type pods struct{ bare, emptyDir, daemonSet bool }

func (p pods) String() string {
	return fmt.Sprintf("bare=%v,emptyDir=%v,daemonSet=%v", p.bare, p.emptyDir, p.daemonSet)
}

// Each line is run by kubectl on one node and by kubectl slipway on another, with the same
// pods, and must succeed, or be refused, on both. What is otherwise here: pods of DaemonSets
// hold up no drain, so kubectl is always told to ignore them (each node has one: the agent).
func TestKubectlsDocumentedDrainsDoTheSame(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	lines := documented(t, env)
	if len(lines) < 6 {
		t.Fatalf("kubectl documents fewer drains than known: %q", lines)
	}
	for i, line := range lines {
		for j, p := range []pods{{}, {bare: true}, {bare: true, emptyDir: true, daemonSet: true}} {
			t.Run(line+"/"+p.String(), func(t *testing.T) {
				t.Parallel()
				arguments := strings.Fields(line)[1:]
				ours := populated(t, env, fmt.Sprintf("alias-s-%d-%d", i, j), p)
				ours.Agent("")
				if slices.Contains(arguments, "--grace-period=900") && !p.bare {
					endsSlowly(t, env, ours, arguments)
					return
				}
				theirs := populated(t, env, fmt.Sprintf("alias-k-%d-%d", i, j), p)
				want := 1
				if kubectl(t, env, append(on(theirs, arguments), "--ignore-daemonsets")) {
					want = 0
				}
				run(t, env, want, on(ours, arguments)...)
				if want == 0 {
					ours.AwaitPodsGone(client.MatchingLabels{"leaves": "yes"})
				}
				run(t, env, 0, "uncordon", ours.Name)
				kubectl(t, env, []string{"uncordon", theirs.Name})
			})
		}
	}
}

// endsSlowly drains a node whose pods take their grace period of 15 minutes: simulated pods
// always do, so nobody waits for the end.
func endsSlowly(t *testing.T, env *harness.Env, node *harness.Node, arguments []string) {
	t.Helper()
	run(t, env, 0, append(on(node, arguments), "--wait=false")...)
	harness.Await(t, env, "a pod has 15 minutes to end", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 900
	}, client.MatchingLabels{"leaves": "yes"}, client.MatchingFields{"spec.nodeName": node.Name})
	run(t, env, 0, "cancel", node.Name)
}

// on are the arguments for a node.
func on(node *harness.Node, arguments []string) []string {
	var all []string
	for _, argument := range arguments {
		if argument == "foo" {
			argument = node.Name
		}
		all = append(all, argument)
	}
	return all
}

// kubectl says whether it succeeded.
func kubectl(t *testing.T, env *harness.Env, arguments []string) bool {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "cache")
	command := exec.Command(env.Facts.Kubectl, append([]string{"--kubeconfig=" + env.Facts.Kubeconfig, "--cache-dir=" + cache}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG=")
	out, err := command.CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatalf("%v: %s", err, out)
	}
	return err == nil
}

// populated is a node with the pods of a Deployment, and what else is wanted.
func populated(t *testing.T, env *harness.Env, group string, p pods) *harness.Node {
	t.Helper()
	node := env.Node(t, group)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: group, Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": group}},
			Template: harness.PodSpec(group, group, quick()),
		},
	}
	deployment.Spec.Template.Labels["leaves"] = "yes"
	create(t, env, deployment)
	harness.Await(t, env, "deployment is ready", &appsv1.DeploymentList{}, func(d *appsv1.Deployment) bool {
		return d.Status.ReadyReplicas == 2
	}, harness.Named(group))
	if p.daemonSet {
		set := &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: group, Namespace: metav1.NamespaceDefault},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": group + "-ds"}},
				Template: harness.PodSpec(group+"-ds", group, quick()),
			},
		}
		create(t, env, set)
		harness.Await(t, env, "daemon set is ready", &appsv1.DaemonSetList{}, func(d *appsv1.DaemonSet) bool {
			return d.Status.NumberReady == 1
		}, harness.Named(group))
	}
	if p.bare {
		template := harness.PodSpec(group+"-bare", group, harness.PodOptions{Gone: time.Second})
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Name, pod.Namespace, pod.Labels["leaves"] = group+"-bare", metav1.NamespaceDefault, "yes"
		pod.Spec.NodeName = node.Name
		if p.emptyDir {
			pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
		create(t, env, pod)
	}
	return node
}

func create(t *testing.T, env *harness.Env, object client.Object) {
	t.Helper()
	if err := env.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.DeleteQuietly(object) })
}
