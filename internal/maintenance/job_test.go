// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const wantJob = `
metadata:
  annotations:
    {slipway.dev/maintenance-uid: u-1, slipway.dev/maintenance-name: kernel, slipway.dev/maintenance-retry: "3", slipway.dev/node: one.example.com}
  labels: {slipway.dev/maintenance: work, slipway.dev/node: one.example.com, slipway.dev/pod-template: reboot}
  name: maintenance-one-example-com-HASH
  namespace: slipway-system-jobs
spec:
  activeDeadlineSeconds: 91
  backoffLimit: 2
  template:
    metadata:
      labels: {app: reboot, slipway.dev/maintenance: work, slipway.dev/node: one.example.com}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchFields:
              - {key: metadata.name, operator: In, values: [one.example.com]}
      containers:
      - env:
        - {name: A, value: b}
        - {name: SLIPWAY_NODE, value: one.example.com}
        - {name: SLIPWAY_MAINTENANCE, value: kernel}
        image: reboot
        name: reboot
      restartPolicy: Never
      tolerations:
      - {key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}
      - {key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoExecute}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoSchedule}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoSchedule}
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}
`

func TestTheJobOfANodeIsMadeOfTheTemplateAndRunsThere(t *testing.T) {
	template := &corev1.PodTemplate{}
	template.Template.Labels = map[string]string{"app": "reboot"}
	template.Template.Spec.Containers = []corev1.Container{{Name: "reboot", Image: "reboot", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}
	before := template.DeepCopy()
	m := &maintenance{NodeMaintenance: &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "kernel", UID: "u-1"}}}
	m.Spec.Work = &slipwayv1alpha1.MaintenanceWork{
		Type: slipwayv1alpha1.WorkJob, PodTemplate: "reboot", Timeout: &metav1.Duration{Duration: 90*time.Second + time.Millisecond}, BackoffLimit: new(int32(2)),
	}
	j := newJob("slipway-system-jobs", "one.example.com", m, Ref{UID: "u-1", Retry: 3}, template)
	if !isOurs(j) {
		t.Errorf("Job %s is none of ours", j.Name)
	}
	j.Name = j.Name[:len(j.Name)-hashLength] + "HASH"
	if isOurs(j) {
		t.Error("a copy with another name is ours")
	}

	var want, got any
	if err := yaml.Unmarshal([]byte(wantJob), &want); err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	prune(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, template); diff != "" {
		t.Errorf("the template has changed:\n%s", diff)
	}

	template.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	m.Spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob}
	j = newJob("slipway-system-jobs", "one", m, Ref{}, template)
	if got := j.Spec.Template.Spec.RestartPolicy; got != corev1.RestartPolicyOnFailure {
		t.Errorf("restartPolicy is %s", got)
	}
	if j.Spec.BackoffLimit != nil || j.Spec.ActiveDeadlineSeconds != nil { // the server's defaults
		t.Errorf("backoffLimit %v, activeDeadlineSeconds %v", j.Spec.BackoffLimit, j.Spec.ActiveDeadlineSeconds)
	}
}

// prune takes away what is empty.
func prune(value any) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	delete(object, "status")
	for key, inner := range object {
		if object, ok := inner.(map[string]any); ok {
			prune(object)
			if len(object) == 0 {
				delete(value.(map[string]any), key)
			}
		}
		if list, ok := inner.([]any); ok {
			for _, each := range list {
				prune(each)
			}
		}
	}
}
