// SPDX-License-Identifier: Apache-2.0

package harness

import "testing"

// QuickPods is a policy that gives each pod that is created a short grace period. A simulated
// pod goes some time within that, which is 30 s where nobody says it: whoever replaces or drains
// the pods of a manifest that people install would wait for that again and again. 3 s are
// enough for the process of such a pod to end in order.
const QuickPods = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: quick-pods.example.com
spec:
  failurePolicy: Ignore
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [pods]}
  matchConditions:
    - {name: takes-its-time, expression: "object.spec.?terminationGracePeriodSeconds.orValue(30) > 3"}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: '[JSONPatch{op: "add", path: "/spec/terminationGracePeriodSeconds", value: 3}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: quick-pods.example.com
spec:
  policyName: quick-pods.example.com
`

// OwnBare is a cluster for one test alone, with nothing of Slipway on it and [QuickPods].
func OwnBare(t *testing.T) *Env {
	t.Helper()
	env := Own(t, Options{Bare: true})
	env.KubectlWith(t, QuickPods, "apply", "-f", "-")
	return env
}
