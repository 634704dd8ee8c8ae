// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// podTemplate creates a PodTemplate that the controller may use. Its work takes that long on a simulated node.
func podTemplate(t *testing.T, e *harness.Env, name string, takes time.Duration) *corev1.PodTemplate {
	t.Helper()
	pod := harness.PodSpec("work-"+name, "", harness.PodOptions{})
	pod.Spec.NodeSelector = nil
	for _, setting := range []string{"delay", "jitter-delay"} {
		pod.Annotations["pod-complete.stage.kwok.x-k8s.io/"+setting] = max(takes, time.Millisecond).String()
	}
	return e.JobTemplate(t, name, pod)
}

// awaitJob waits until there is the Job of a node, and returns it.
func awaitJob(t *testing.T, e *harness.Env, node string) *batchv1.Job {
	t.Helper()
	return harness.Await(t, e, "a Job of node "+node, &batchv1.JobList{}, func(*batchv1.Job) bool { return true },
		client.MatchingLabels{slipwayv1alpha1.WorkNodeLabel: node}, client.InNamespace(harness.JobNamespace))
}

// endJob has the pod of a Job that runs end, well or not.
func endJob(t *testing.T, e *harness.Env, job *batchv1.Job, well bool) {
	t.Helper()
	pod := harness.Await(t, e, "the pod of Job "+job.Name+" runs", &corev1.PodList{}, func(p *corev1.Pod) bool {
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
