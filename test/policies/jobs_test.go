// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// reboots is the controller with the permission to use the PodTemplate "reboot".
var reboots = controller.with("use podtemplates reboot")

func TestWhichPodTemplatesTheControllerUses(t *testing.T) {
	const not, others, single = "metadata.labels: the controller may not use PodTemplate '", "metadata.labels: the controller creates", "spec.parallelism"
	job := func(labels, spec string) string {
		return "{metadata: {name: a, namespace: slipway-system-jobs, labels: {" + labels + "}}, spec: {" + spec + "}}"
	}
	const work, reboot = "slipway.dev/maintenance: work", "slipway.dev/maintenance: work, slipway.dev/pod-template: reboot"
	refusals(t, "jobs/controller-jobs.yaml", map[string]refused{
		"one that it may use":       {request{reboots, "jobs", "", job(reboot, "")}, ""},
		"one that it may not use":   {request{reboots, "jobs", "", job(work+", slipway.dev/pod-template: wipe", "")}, not + "wipe'"},
		"none":                      {request{reboots, "jobs", "", job(work, "")}, not + "'"},
		"none, with all permission": {request{controller.with("use"), "jobs", "", job(work, "")}, not + "'"},
		"without a permission":      {request{controller, "jobs", "", job(reboot, "")}, not + "reboot'"},
		"for something else":        {request{reboots, "jobs", "", job("slipway.dev/pod-template: reboot", "")}, others},
		"for two pods at a time":    {request{reboots, "jobs", "", job(reboot, "parallelism: 2")}, single},
		"for two pods":              {request{reboots, "jobs", "", job(reboot, "completions: 2")}, single},
		"of a user":                 {request{alice, "jobs", "", job("", "")}, ""},
	})
	refusals(t, "jobs/used-templates.yaml", map[string]refused{
		"a PodTemplate that is used goes": {request{reboots, "podtemplates", podTemplate("any", ""), ""}, ""},
		"with the permission to use it":   {request{controller.with("use podtemplates any"), "podtemplates", podTemplate("any", ""), ""}, "Slipway's controller may use this PodTemplate"},
	})
}

func podTemplate(name, spec string) string {
	return "{metadata: {name: " + name + ", namespace: slipway-system-jobs}, template: {" + spec + "}}"
}

// The Job of a PodTemplate that has all fields which the controller changes, as it creates it.
const (
	rebootTemplate = `metadata: {labels: {a: b}, annotations: {c: d}}, spec: {restartPolicy: Always, serviceAccountName: reboot, hostPID: true,
		affinity: {podAffinity: {}}, tolerations: [{key: a}], initContainers: [{name: i, image: i:1}, {name: j, image: j:1}],
		containers: [{name: c, image: c:1, env: [{name: A, value: b}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}], securityContext: {privileged: true}}]}`
	added     = `{name: SLIPWAY_NODE, value: worker-1}, {name: SLIPWAY_MAINTENANCE, value: kernel}`
	rebootJob = `metadata: {labels: {a: b, slipway.dev/maintenance: work, slipway.dev/node: worker-1, controller-uid: u, job-name: j,
		batch.kubernetes.io/controller-uid: u, batch.kubernetes.io/job-name: j}, annotations: {c: d}},
		spec: {restartPolicy: Never, serviceAccountName: reboot, hostPID: true, affinity: {podAffinity: {}, nodeAffinity: {}}, tolerations: [{key: a}, {key: b}],
		initContainers: [{name: i, image: i:1, env: [` + added + `]}, {name: j, image: j:1, env: [` + added + `]}],
		containers: [{name: c, image: c:1, env: [{name: A, value: b}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}, ` + added + `], securityContext: {privileged: true}}]}`
)

func TestAJobEqualsItsPodTemplate(t *testing.T) {
	const pod, container, metadata = "spec.template.spec: the pod", "spec.template.spec.containers: a container", "spec.template.metadata: "
	policy := validator(t, "jobs/maintenance-jobs.yaml")
	for name, tc := range map[string]struct{ change, to, want string }{
		"as the controller creates it":       {"", "", ""},
		"another image":                      {"image: c:1", "image: c:2", container},
		"another image of an init container": {"image: i:1", "image: i:2", container},
		"another command":                    {"image: c:1", "image: c:1, command: [sh]", container},
		"without its security context":       {", securityContext: {privileged: true}", "", container},
		"without a variable":                 {"{name: A, value: b}, ", "", container},
		"with another value":                 {"{name: A, value: b}", "{name: A, value: c}", container},
		"with another secret":                {"{name: s, key: k}", "{name: t, key: k}", container},
		"with another variable":              {"{name: A, value: b}", "{name: A, value: b}, {name: LD_PRELOAD, value: x}", container},
		"a node that is a script":            {"value: worker-1", "value: '$(reboot)'", container},
		"a node from a secret":               {"{name: SLIPWAY_NODE, value: worker-1}", "{name: SLIPWAY_NODE, valueFrom: {secretKeyRef: {name: t, key: k}}}", container},
		"one more container":                 {"containers: [{name: c", "containers: [{name: d, image: d:1}, {name: c", container},
		"no init containers":                 {"initContainers: [{name: i, image: i:1, env: [" + added + "]}, {name: j, image: j:1, env: [" + added + "]}],", "", pod},
		"init containers in another order":   {"{name: i, image: i:1, env: [" + added + "]}, {name: j, image: j:1,", "{name: j, image: j:1, env: [" + added + "]}, {name: i, image: i:1,", container},
		"another account":                    {"serviceAccountName: reboot", "serviceAccountName: admin", pod},
		"with the network of the node":       {"hostPID: true", "hostPID: true, hostNetwork: true", pod},
		"without a field":                    {"hostPID: true,", "", pod},
		"a volume of the node":               {"hostPID: true", "hostPID: true, volumes: [{name: v, hostPath: {path: /}}]", pod},
		"another annotation":                 {"annotations: {c: d}", "annotations: {c: e}", metadata},
		"another label":                      {"a: b, slipway", "a: b, app: shop, slipway", metadata},
		"another value of a label":           {"a: b, slipway", "a: c, slipway", metadata},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(rebootJob, tc.change, tc.to, 1)
			if tc.change != "" && changed == rebootJob {
				t.Fatal("nothing is changed")
			}
			job := func(template, of string) request {
				return request{controller, "jobs", "", fmt.Sprintf("{metadata: {name: a, labels: {slipway.dev/pod-template: %s}}, spec: {template: {%s}}}", of, template)}
			}
			if got := job(changed, "reboot").refusal(t, policy, object(t, podTemplate("reboot", rebootTemplate))); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
			if got := job(changed, "reboot").refusal(t, policy, object(t, podTemplate("other", rebootTemplate))); got != "" {
				t.Errorf("beside another PodTemplate, it says %q", got)
			}
		})
	}
}

// TestAJobWithoutPodTemplates: the server evaluates the policy for each PodTemplate, so it needs one.
func TestAJobWithoutPodTemplates(t *testing.T) {
	binding := documents[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, "jobs/maintenance-jobs.yaml", "ValidatingAdmissionPolicyBinding")[0]
	if action := binding.Spec.ParamRef.ParameterNotFoundAction; *action != admissionregistrationv1.DenyAction {
		t.Errorf("it says %v", *action)
	}
}
