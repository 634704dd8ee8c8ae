// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const goingDown = "host/going-down.yaml"

// goesDown is node a in a boot, with what it says of a shutdown.
func goesDown(boot, announced string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Labels: map[string]string{"slipway.dev/going-down": "true"}, Annotations: map[string]string{"slipway.dev/shutdown": announced},
		},
		Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: boot}},
	}
}

func TestWhichPodsComeToANodeThatGoesDown(t *testing.T) {
	policy := validator(t, goingDown)
	const refusal = "the machine of node a is being shut down: no new pods until it has booted"
	announced := goesDown("boot1", `{"bootID":"boot1","since":"2026-01-02T03:00:00Z"}`)
	booted := goesDown("boot2", announced.Annotations["slipway.dev/shutdown"])
	silent := announced.DeepCopy()
	silent.Annotations = nil
	pod := func(namespace, node string) string {
		return fmt.Sprintf("{metadata: {name: p, namespace: %s}, spec: {nodeName: '%s'}}", namespace, node)
	}
	binding := func(namespace, node string) string {
		return fmt.Sprintf("{metadata: {name: p, namespace: %s}, target: {kind: Node, name: %s}}", namespace, node)
	}
	scheduler := caller{name: "system:kube-scheduler"}
	const pods, bind = "pods", "pods/binding"
	for name, tc := range map[string]struct {
		request
		node *corev1.Node
		want string
	}{
		"the scheduler binds one to it":           {request{scheduler, bind, "", binding("shop", "a")}, announced, refusal},
		"by the older way":                        {request{scheduler, "bindings", "", binding("shop", "a")}, announced, refusal},
		"to another node":                         {request{scheduler, bind, "", binding("shop", "b")}, announced, ""},
		"when it has booted":                      {request{scheduler, bind, "", binding("shop", "a")}, booted, ""},
		"to one that has the label alone":         {request{scheduler, bind, "", binding("shop", "a")}, silent, ""},
		"one of Slipway's own":                    {request{scheduler, bind, "", binding("slipway-system", "a")}, announced, ""},
		"one of the cluster's own":                {request{scheduler, bind, "", binding("kube-system", "a")}, announced, refusal},
		"somebody creates one on it":              {request{alice, pods, "", pod("shop", "a")}, announced, refusal},
		"on another node":                         {request{alice, pods, "", pod("shop", "b")}, announced, ""},
		"when it has booted, too":                 {request{alice, pods, "", pod("shop", "a")}, booted, ""},
		"somebody creates one, for any node":      {request{alice, pods, "", pod("shop", "")}, announced, ""},
		"somebody creates one, and says no node":  {request{alice, pods, "", "{metadata: {name: p, namespace: shop}, spec: {}}"}, announced, ""},
		"the kubelet mirrors a static pod":        {request{caller{name: "system:node:a"}, pods, "", pod("shop", "a")}, announced, ""},
		"somebody creates one in kube-system":     {request{alice, pods, "", pod("kube-system", "a")}, announced, refusal},
		"somebody creates one in Slipway's space": {request{alice, pods, "", pod("slipway-system", "a")}, announced, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.refusal(t, policy, tc.node); got != tc.want {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAClusterWithoutShutdownsIsNotAsked(t *testing.T) {
	policy := documents[admissionregistrationv1.ValidatingAdmissionPolicy](t, goingDown, "ValidatingAdmissionPolicy")[0]
	if p := policy.Spec.FailurePolicy; p == nil || *p != admissionregistrationv1.Ignore {
		t.Error("what cannot be evaluated keeps all pods off all nodes")
	}
	binding := documents[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, goingDown, "ValidatingAdmissionPolicyBinding")[0]
	if a := binding.Spec.ParamRef.ParameterNotFoundAction; a == nil || *a != admissionregistrationv1.AllowAction {
		t.Error("without such Nodes, no pod can be bound")
	}
	selector, err := metav1.LabelSelectorAsSelector(binding.Spec.ParamRef.Selector)
	if err != nil || !selector.Matches(labels.Set(goesDown("", "").Labels)) || selector.Matches(labels.Set{}) {
		t.Errorf("it selects %v: %v", selector, err)
	}
	if strings.Contains(policy.Spec.Validations[0].Expression, "authorizer") {
		t.Error("it asks for rights with each pod")
	}
}
