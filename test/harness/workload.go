// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// JobNamespace is the namespace of the Jobs of maintenances.
var JobNamespace = maintenance.JobNamespace(devcluster.Namespace)

// JobTemplate creates a PodTemplate that the controller may use, as an administrator does.
func (e *Env) JobTemplate(t *testing.T, name string, pod corev1.PodTemplateSpec) *corev1.PodTemplate {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: JobNamespace}
	template := &corev1.PodTemplate{ObjectMeta: meta, Template: pod}
	e.Create(t, template)
	e.Create(t, &rbacv1.Role{
		ObjectMeta: meta,
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"use"}, APIGroups: []string{""}, Resources: []string{"podtemplates"}, ResourceNames: []string{name}}},
	})
	e.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: devcluster.Namespace, Name: devcluster.ControllerServiceAccount}},
	})
	return template
}

// PodOptions configure simulated pods.
type PodOptions struct {
	// Ready is the time until a pod is ready; Gone the time that it takes to end.
	Ready, Gone time.Duration
}

// PodSpec is the metadata and spec of a simulated pod on the nodes of the group.
func PodSpec(app, group string, options PodOptions) corev1.PodTemplateSpec {
	annotations := map[string]string{}
	for stage, delay := range map[string]time.Duration{"pod-create": 1, "pod-ready": options.Ready, "pod-delete": options.Gone} {
		annotations[stage+".stage.kwok.x-k8s.io/delay"] = max(delay, time.Millisecond).String()
		annotations[stage+".stage.kwok.x-k8s.io/jitter-delay"] = max(delay, time.Millisecond).String()
	}
	// The pod goes at the latest when its grace period is over.
	grace := int64((options.Gone + time.Second - 1) / time.Second)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}, Annotations: annotations},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{GroupLabel: group},
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
		},
	}
}

// Deployment creates a Deployment on the nodes of the group and waits until its pods
// are ready.
func (e *Env) Deployment(t *testing.T, app, group string, replicas int32, options PodOptions) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			Template: PodSpec(app, group, options),
		},
	}
	e.Create(t, deployment)
	return Await(t, e, "deployment "+app+" is ready", &appsv1.DeploymentList{}, func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == replicas
	}, Named(app))
}

// Budget creates a disruption budget for an app.
func (e *Env) Budget(t *testing.T, app string, maxUnavailable int) *policyv1.PodDisruptionBudget {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			MaxUnavailable: new(intstr.FromInt(maxUnavailable)),
		},
	}
	e.Create(t, budget)
	return Await(t, e, "budget "+app+" is observed", &policyv1.PodDisruptionBudgetList{}, func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods > 0
	}, Named(app))
}

// Pod creates a bare pod that is bound to the node, as by a scheduler that has not
// seen its cordon.
func (n *Node) Pod(app string, options PodOptions, change ...func(*corev1.Pod)) *corev1.Pod {
	n.t.Helper()
	template := PodSpec(app, "", options)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = metav1.NamespaceDefault, app+"-"
	pod.Spec.NodeSelector, pod.Spec.NodeName = nil, n.Name
	for _, f := range change {
		f(pod)
	}
	n.env.Create(n.t, pod)
	return pod
}

// The two transitions of the drain driver.
const (
	Drain  = "drain.slm.k8s.io"
	Return = "drain.slm.k8s.io-uncordon"
)

// Transition creates a transition of the given driver, from "begun" to "done", for
// all nodes.
func (e *Env) Transition(t *testing.T, name, driver string, change ...func(*lifecyclev1alpha1.LifecycleTransition)) {
	t.Helper()
	transition := &lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Start: "begun", End: "done", Driver: driver, AllNodes: new(true)},
	}
	for _, f := range change {
		f(transition)
	}
	e.Create(t, transition)
}

// Event creates an event for the node.
func (n *Node) Event(name, transition string, change ...func(*lifecyclev1alpha1.LifecycleEvent)) *lifecyclev1alpha1.LifecycleEvent {
	n.t.Helper()
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: n.Name},
	}
	for _, f := range change {
		f(event)
	}
	n.env.Create(n.t, event)
	return event
}

// SLA is a change of an event: how long it may take.
func SLA(d time.Duration) func(*lifecyclev1alpha1.LifecycleEvent) {
	return func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.SLA = &metav1.Duration{Duration: d} }
}

// Gates is a change of an event: what holds it back.
func Gates(names ...string) func(*lifecyclev1alpha1.LifecycleEvent) {
	return func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Gates = nil
		for _, name := range names {
			e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: name})
		}
	}
}

// Change changes an event.
func (n *Node) Change(event string, change func(*lifecyclev1alpha1.LifecycleEvent)) {
	n.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var e lifecyclev1alpha1.LifecycleEvent
		if err := n.env.Client.Get(n.t.Context(), client.ObjectKey{Name: event}, &e); err != nil {
			return err
		}
		change(&e)
		return n.env.Client.Update(n.t.Context(), &e)
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// EventName is a name for an event of the node that no other test uses.
func (n *Node) EventName(what string) string { return fmt.Sprintf("%s-%s", what, n.Name) }

// Forever is the duration of work that a test ends.
const Forever = 24 * time.Hour

// WithoutAgents takes the agents' DaemonSet away: in central mode there is none.
func (e *Env) WithoutAgents(t *testing.T) {
	t.Helper()
	e.Kubectl(t, "apply", "-f", File(t, "config", "rbac", "central"))
	e.Kubectl(t, "delete", "daemonset", "--ignore-not-found", "--wait", "-n", devcluster.Namespace, devcluster.AgentServiceAccount)
	AwaitNone[*corev1.Pod](t, e, &corev1.PodList{}, client.InNamespace(devcluster.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "node-agent"})
}

// HeldPod is a bare pod that no eviction gets past: its budget wants it to stay.
type HeldPod struct {
	*corev1.Pod
	env    *Env
	budget *policyv1.PodDisruptionBudget
}

// HeldPod creates a pod on the node that goes within a second once it is evicted, and
// the budget that holds it; and waits until the budget counts it.
func (n *Node) HeldPod(app string) *HeldPod {
	n.t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			MinAvailable: new(intstr.FromInt32(1)),
		},
	}
	n.env.Create(n.t, budget)
	pod := n.Pod(app, PodOptions{Gone: time.Second})
	Await(n.t, n.env, "budget "+app+" counts its pod", &policyv1.PodDisruptionBudgetList{},
		func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == 1 }, Named(app))
	return &HeldPod{Pod: pod, env: n.env, budget: budget}
}

// LetGo deletes the budget.
func (p *HeldPod) LetGo(t *testing.T) {
	t.Helper()
	p.env.Delete(t, p.budget)
}

// AwaitHeld waits until the event lists the pod as a blocker.
func (p *HeldPod) AwaitHeld(t *testing.T, event string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	return p.env.AwaitEvent(t, event, "is blocked by pod "+p.Name, func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		for _, blocker := range e.Status.Blockers {
			if blocker.Object == "Pod "+p.Namespace+"/"+p.Name {
				return true
			}
		}
		return false
	})
}

// Rule creates a DrainRule: unless it is changed, one that evicts all pods of its
// namespace.
func (e *Env) Rule(t *testing.T, namespace, name string, change ...func(*slipwayv1alpha1.DrainRuleSpec)) *slipwayv1alpha1.DrainRule {
	t.Helper()
	rule := &slipwayv1alpha1.DrainRule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       slipwayv1alpha1.DrainRuleSpec{Behavior: slipwayv1alpha1.DrainEvict},
	}
	for _, f := range change {
		f(&rule.Spec)
	}
	e.Create(t, rule)
	return rule
}

// ForApp is a change of a rule: it is for the pods of an app.
func ForApp(app string) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) { s.PodSelector.MatchLabels = map[string]string{"app": app} }
}

// Behaves is a change of a rule.
func Behaves(b slipwayv1alpha1.DrainBehavior) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) { s.Behavior = b }
}

// RawParameters is a change of an event: what it tells its driver, as JSON.
func RawParameters(text string) func(*lifecyclev1alpha1.LifecycleEvent) {
	return func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(text)}
	}
}

// Parameters is a change of an event: what it tells the drain driver.
func Parameters(t *testing.T, change func(*slipwayv1alpha1.DrainParameters)) func(*lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	parameters := &slipwayv1alpha1.DrainParameters{}
	parameters.APIVersion, parameters.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	change(parameters)
	text, err := json.Marshal(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return RawParameters(string(text))
}

// Namespace creates a namespace of the test's own.
func (e *Env) Namespace(t *testing.T, labels map[string]string) *corev1.Namespace {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}
	e.Create(t, namespace)
	return namespace
}
