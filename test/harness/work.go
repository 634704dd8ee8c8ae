// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// Forever is how long work takes that somebody has to end.
const Forever = 24 * time.Hour

// PodTemplate is what an administrator puts into Slipway's namespace: work that takes so
// long on a simulated node.
func (e *Env) PodTemplate(t *testing.T, name string, takes time.Duration) *corev1.PodTemplate {
	t.Helper()
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: devcluster.Namespace},
		Template:   PodSpec("work-"+name, "", PodOptions{}),
	}
	template.Template.Spec.NodeSelector = nil
	for _, setting := range []string{"delay", "jitter-delay"} {
		template.Template.Annotations["pod-complete.stage.kwok.x-k8s.io/"+setting] = max(takes, time.Millisecond).String()
	}
	if err := e.Client.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.deleteQuietly(template) })
	return template
}

// AwaitJob waits until there is the Job of a node, and returns it.
func (e *Env) AwaitJob(t *testing.T, node string) *batchv1.Job {
	t.Helper()
	return Await(t, e, "a Job of node "+node, &batchv1.JobList{}, func(*batchv1.Job) bool { return true },
		client.MatchingLabels{slipwayv1alpha1.WorkNodeLabel: node}, client.InNamespace(devcluster.Namespace))
}

// EndJob has the pod of a Job that runs end, well or not.
func (e *Env) EndJob(t *testing.T, job *batchv1.Job, well bool) {
	t.Helper()
	pod := Await(t, e, "the pod of Job "+job.Name+" runs", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
	}, client.MatchingLabels{batchv1.JobNameLabel: job.Name}, client.InNamespace(job.Namespace))
	phase := `{"status":{"phase":"Failed"}}`
	if well {
		phase = `{"status":{"phase":"Succeeded"}}`
	}
	if err := e.Client.Status().Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, []byte(phase))); err != nil {
		t.Fatal(err)
	}
}

// WithoutAgents takes the agents' DaemonSet away: in central mode there is none.
func (e *Env) WithoutAgents(t *testing.T) {
	t.Helper()
	e.Kubectl(t, "apply", "-f", File(t, "config", "rbac", "central"))
	e.Kubectl(t, "delete", "daemonset", "--ignore-not-found", "--wait", "-n", devcluster.Namespace, devcluster.AgentServiceAccount)
	AwaitNone[*corev1.Pod](t, e, &corev1.PodList{}, client.InNamespace(devcluster.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "node-agent"})
}
