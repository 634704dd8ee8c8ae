// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// What there is besides events: transitions, rules, rights and policies.
var onTheCatalogue = map[string]attempt{
	"change a transition of all nodes":     {agentA, changeTransition(harness.Drain), byRBAC, boss},
	"delete a transition of all nodes":     {agentA, deleteTransition(harness.Drain), byTransitions, boss},
	"publish for all nodes":                {agentA, publishForAll, byTransitions, boss},
	"publish for another node":             {agentA, publishFor(ofB), byTransitions, agentB},
	"publish what fills all memories":      {agentA, publishLarge, bySizes, nobody},
	"write a rule that fills all memories": {boss, writeLargeRule, bySizes, nobody},
	"withdraw what is for another node":    {agentA, withdraw(ofB), byTransitions, agentB},
	"publish with a token of no node":      {unbound, publishFor(ofA), byTransitions, agentA},
	"publish for all nodes as an operator": {operator, publishForAll, byRBAC, boss},
	"hold another node":                    {agentA, holdNode(ofB), byRBAC, controller},
	"hold a node, on call":                 {boss, holdNode(ofB), byRBAC, controller},
	"release the hold of its node":         {agentA, releaseNode(ofA), byRBAC, boss},
	"release a hold, on call":              {operator, releaseNode(ofA), byRBAC, boss},
	"freeze changes":                       {agentA, writeFreeze, byRBAC, boss},
	"freeze changes, on call":              {operator, writeFreeze, byRBAC, boss},
	"freeze changes, as its node":          {nodeA, writeFreeze, byImpersonation, boss},
	"write a budget of nodes":              {agentA, writeBudget, byRBAC, boss},
	"write a budget of nodes, on call":     {operator, writeBudget, byRBAC, boss},
	"write a rule about pods":              {agentA, writeRule(metav1.NamespaceDefault), byRBAC, boss},
	"write a rule of the cluster":          {agentA, writeRule("slipway-system"), byRBAC, boss},
	"write a rule of the cluster, on call": {operator, writeRule("slipway-system"), byRBAC, boss},
	"run a Job beside its own account":     {controller, runJob("slipway-system", asAdministratorsWrote), byRBAC, root},
	"run a Job without a PodTemplate":      {controller, runJob(harness.JobNamespace, withoutTemplate), byJobs, root},
	"run a Job of a forbidden PodTemplate": {controller, runJob(harness.JobNamespace, ofForbiddenTemplate), byJobs, root},
	"run another program in a Job":         {controller, runJob(harness.JobNamespace, withCommand), byEqualJobs, root},
	"run a Job with another account":       {controller, runJob(harness.JobNamespace, withAccount), byEqualJobs, root},
	"write the PodTemplate of its Jobs":    {controller, changeTemplate, byRBAC, root},
	"permit itself another PodTemplate":    {controller, permitTemplate, byRBAC, root},
	"delete the policy that holds it":      {agentA, deletePolicy, byRBAC, root},
	"unbind the policy that holds it":      {agentA, deleteBinding, byRBAC, root},
	"delete that policy, on call":          {boss, deletePolicy, byRBAC, root},
	"widen its own rights":                 {agentA, widen, byRBAC, root},
	"bind itself to all rights":            {agentA, bindToAll, byRBAC, root},
	"delete the CRD of events":             {agentA, deleteCRD, byRBAC, root},
}

// holdOn is the hold of a user on a node.
func holdOn(node string) *slipwayv1alpha1.NodeHold {
	return &slipwayv1alpha1.NodeHold{
		ObjectMeta: metav1.ObjectMeta{Name: "hold-" + node},
		Spec:       slipwayv1alpha1.NodeHoldSpec{NodeName: node, EventName: "drain", EventUID: "of-alice", User: "alice"},
	}
}

func holdNode(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Create(ctx, holdOn(s.nodes[of].Name), client.DryRunAll)
	}
}

func releaseNode(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Delete(ctx, holdOn(s.nodes[of].Name), client.DryRunAll)
	}
}

func changeTransition(name string) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"driver":"example.com/attack"}}`))
		return h.kinds.Patch(ctx, transitionOf(name), patch, client.DryRunAll)
	}
}

func updateTransition(name string) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		there := transitionOf(name)
		if err := h.kinds.Get(ctx, client.ObjectKeyFromObject(there), there); err != nil {
			return err
		}
		there.Spec.SLA = &metav1.Duration{Duration: time.Hour}
		return h.kinds.Update(ctx, there, client.DryRunAll)
	}
}

func deleteTransition(name string) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		return h.kinds.Delete(ctx, transitionOf(name), client.DryRunAll)
	}
}

func publish(ctx context.Context, h hand, change func(*lifecyclev1alpha1.LifecycleTransitionSpec)) error {
	transition := transitionOf("")
	transition.GenerateName = "attack-"
	change(&transition.Spec)
	return h.kinds.Create(ctx, transition, client.DryRunAll)
}

func publishForAll(ctx context.Context, _ *scene, h hand) error {
	return publish(ctx, h, func(spec *lifecyclev1alpha1.LifecycleTransitionSpec) { spec.AllNodes = new(true) })
}

func publishFor(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return publish(ctx, h, func(spec *lifecyclev1alpha1.LifecycleTransitionSpec) { spec.NodeName = s.nodes[of].Name })
	}
}

// jobPod is the pod of a PodTemplate.
func jobPod() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example.com/reboot:1"}},
	}}
}

// runJob creates a Job of a maintenance that differs from the one that the controller creates.
func runJob(namespace string, change func(*scene, *batchv1.Job)) try {
	return func(ctx context.Context, s *scene, h hand) error {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-", Labels: map[string]string{
				slipwayv1alpha1.MaintenanceEventLabel: "work", "slipway.dev/pod-template": s.template,
			}},
			Spec: batchv1.JobSpec{Template: jobPod()},
		}
		change(s, job)
		_, err := h.kube.BatchV1().Jobs(namespace).Create(ctx, job, dryCreate)
		return err
	}
}

func asAdministratorsWrote(*scene, *batchv1.Job) {}

func withoutTemplate(_ *scene, j *batchv1.Job) { delete(j.Labels, "slipway.dev/pod-template") }

func ofForbiddenTemplate(s *scene, j *batchv1.Job) {
	j.Labels["slipway.dev/pod-template"] = s.forbiddenTemplate
}

func withCommand(_ *scene, j *batchv1.Job) {
	j.Spec.Template.Spec.Containers[0].Command = []string{"sh"}
}

func withAccount(_ *scene, j *batchv1.Job) {
	j.Spec.Template.Spec.ServiceAccountName = "slipway-node-agent"
}

func changeTemplate(ctx context.Context, s *scene, h hand) error {
	patch := []byte(`{"template":{"spec":{"hostPID":true}}}`)
	_, err := h.kube.CoreV1().PodTemplates(harness.JobNamespace).Patch(ctx, s.template, types.MergePatchType, patch, dryPatch)
	return err
}

func permitTemplate(ctx context.Context, s *scene, h hand) error {
	rules := []rbacv1.PolicyRule{{
		Verbs: []string{"use"}, APIGroups: []string{""}, Resources: []string{"podtemplates"}, ResourceNames: []string{s.forbiddenTemplate},
	}}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"}, Rules: rules}
	_, err := h.kube.RbacV1().Roles(harness.JobNamespace).Create(ctx, role, dryCreate)
	return err
}

// large fills memory, if a process keeps it.
var large = strings.Repeat("x", 200_000)

func publishLarge(ctx context.Context, s *scene, h hand) error {
	t := transitionOf("")
	t.GenerateName, t.Annotations, t.Spec.NodeName = "attack-", map[string]string{"example.com/large": large}, s.nodes[ofA].Name
	return h.kinds.Create(ctx, t, client.DryRunAll)
}

func writeLargeRule(ctx context.Context, s *scene, h hand) error {
	var values []any
	for i := range 1_000 {
		values = append(values, large[:50]+strconv.Itoa(i))
	}
	apps := map[string]any{"key": "app", "operator": "In", "values": values}
	return writeRuleAbout(metav1.NamespaceDefault, map[string]any{"matchExpressions": []any{apps}})(ctx, s, h)
}

// withdraw deletes the transition of a node.
func withdraw(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Delete(ctx, s.transitions[of].DeepCopy(), client.DryRunAll)
	}
}

// writeBudget creates a NodeAvailabilityBudget that holds back all drains.
func writeBudget(ctx context.Context, _ *scene, h hand) error {
	budget := &slipwayv1alpha1.NodeAvailabilityBudget{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"}}
	budget.Spec.MaxUnavailable = new(intstr.FromInt32(0))
	return h.kinds.Create(ctx, budget, client.DryRunAll)
}

// writeFreeze creates a Freeze that stops all drains.
func writeFreeze(ctx context.Context, _ *scene, h hand) error {
	freeze := &slipwayv1alpha1.Freeze{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"}}
	freeze.Spec.Reason = "attack"
	return h.kinds.Create(ctx, freeze, client.DryRunAll)
}

func writeRule(namespace string) try { return writeRuleAbout(namespace, map[string]any{}) }

func writeRuleAbout(namespace string, pods map[string]any) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		rule := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"podSelector": pods, "behavior": "Skip"},
		}}
		rule.SetAPIVersion("slipway.dev/v1alpha1")
		rule.SetKind("DrainRule")
		rule.SetGenerateName("attack-")
		rules := schema.GroupVersionResource{Group: "slipway.dev", Version: "v1alpha1", Resource: "drainrules"}
		_, err := h.any.Resource(rules).Namespace(namespace).Create(ctx, rule, dryCreate)
		return err
	}
}

func deletePolicy(ctx context.Context, _ *scene, h hand) error {
	return h.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(ctx, "agent-events.slipway.dev", dryDelete)
}

func deleteBinding(ctx context.Context, _ *scene, h hand) error {
	return h.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, "agent-events.slipway.dev", dryDelete)
}

func deleteCRD(ctx context.Context, s *scene, h hand) error {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	return h.any.Resource(crds).Delete(ctx, "lifecycleevents."+s.env.Group, dryDelete)
}

func widen(ctx context.Context, _ *scene, h hand) error {
	_, err := h.kube.RbacV1().ClusterRoles().Patch(ctx, "slipway-node-agent", types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["secrets"],"verbs":["*"]}}]`), dryPatch)
	return err
}

func bindToAll(ctx context.Context, _ *scene, h hand) error {
	_, err := h.kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "slipway-node-agent", Namespace: "slipway-system"}},
	}, dryCreate)
	return err
}
