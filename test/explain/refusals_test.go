// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// refuse makes the API server refuse what is done to the scene's pod, and waits until it
// does: no watch shows when a policy is in force.
func (s *scene) refuse(resource, operation string) {
	s.Helper()
	s.apply(strings.NewReplacer("RESOURCE", resource, "OPERATION", operation).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: APP}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [OPERATION], resources: [RESOURCE]}]}
  validations: [{expression: "request.name != 'POD'", message: not this one}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: APP}
spec: {policyName: APP, validationActions: [Deny]}
`))
	if operation == "DELETE" {
		s.awaits("the policy is in force", func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().Pods(s.pod.Namespace).Delete(ctx, s.pod.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}, "not this one", rest.ImpersonationConfig{})
		return
	}
	s.awaitRefused("not this one")
}

// dryRuns has the server accept evictions of the scene's pod and do nothing. Those that are dry runs already are refused,
// by which it is seen that the policy is in force.
func (s *scene) dryRuns() {
	s.Helper()
	s.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: APP}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/eviction]}]}
  matchConditions: [{name: this-pod, expression: "request.name == 'POD'"}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        request.dryRun ? [JSONPatch{op: "remove", path: "/in-force"}]
        : [JSONPatch{op: "add", path: "/deleteOptions/dryRun", value: ["All"]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: APP}
spec: {policyName: APP}
`)
	s.awaitRefused("in-force")
}

// awaitRefused waits until evictions of the scene's pod, as its node, are refused so.
func (s *scene) awaitRefused(why string) {
	s.Helper()
	s.awaits("evictions are refused", s.tryEviction, why, s.asNode())
}

func (s *scene) asNode() rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: "system:node:" + s.node.Name, Groups: []string{"system:nodes", "system:authenticated"}}
}

// tryEviction asks once for an eviction of the scene's pod that changes nothing.
func (s *scene) tryEviction(ctx context.Context, c kubernetes.Interface) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: s.pod.Name}}
	return c.CoreV1().RESTClient().Post().Namespace(s.pod.Namespace).Resource("pods").Name(s.pod.Name).SubResource("eviction").
		Param("dryRun", metav1.DryRunAll).MaxRetries(0).Body(eviction).Do(ctx).Error()
}

// awaits waits until a request is refused.
func (s *scene) awaits(what string, request func(context.Context, kubernetes.Interface) error, why string, as rest.ImpersonationConfig) {
	s.Helper()
	c, last := s.clientAs(as), error(nil)
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		last = request(one, c)
		return last != nil && strings.Contains(strings.ToLower(last.Error()), strings.ToLower(why)), nil
	})
	if err != nil {
		s.Fatalf("%s: %v; the last answer is %v", what, err, last)
	}
}

func (s *scene) clientAs(as rest.ImpersonationConfig) kubernetes.Interface {
	s.Helper()
	config := rest.CopyConfig(s.env.Admin)
	config.Impersonate = as
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// slowWebhook makes evictions of the scene's pod of which the condition is true wait for a
// webhook that does not answer, and returns where its calls arrive.
func (s *scene) slowWebhook(condition string) <-chan struct{} {
	s.Helper()
	over, called := make(chan struct{}), make(chan struct{}, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case called <- struct{}{}:
		default: // it is known already
		}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	s.Cleanup(server.Close)
	s.Cleanup(func() { close(over) })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	s.apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: APP}
webhooks:
- name: slow.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 30
  clientConfig: {url: "%s", caBundle: "%s"}
  matchConditions: [{name: this-pod, expression: "request.name == 'POD' && %s"}]
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/eviction]}]
`, server.URL, base64.StdEncoding.EncodeToString(ca), condition))
	return called
}

// crowd fills the only place that the API server has for evictions by the scene's node,
// with one that does not end.
func (s *scene) crowd() {
	s.Helper()
	s.apply(noEvictions)
	s.kubectl("wait flowschema APP --for=condition=Dangling=False")
	called := s.slowWebhook("has(request.dryRun) && request.dryRun")
	c, over := s.clientAs(s.asNode()), make(chan struct{})
	ctx, stop := context.WithCancel(s.Context())
	go func() {
		defer close(over)
		for ctx.Err() == nil { // until the webhook is in force, it ends at once
			_ = s.tryEviction(ctx, c)
		}
	}()
	s.Cleanup(func() { stop(); <-over })
	select {
	case <-called:
	case <-time.After(time.Minute):
		s.Fatalf("the webhook is not called; evictions say: %v", s.tryEviction(ctx, c))
	}
	s.awaitRefused("Too many requests")
}

// noEvictions leaves room for one eviction by the scene's node at a time, and no queue.
const noEvictions = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: APP}
spec: {type: Limited, limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: APP}
spec:
  matchingPrecedence: 2
  priorityLevelConfiguration: {name: APP}
  rules:
  - subjects: [{kind: User, user: {name: "system:node:NODE"}}]
    resourceRules: [{apiGroups: [""], resources: [pods/eviction], verbs: [create], namespaces: ["*"]}]
`

// ownedBy makes a pod belong to something that has no scale.
func ownedBy(name, uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID(uid), Controller: new(true)}}
	}
}
