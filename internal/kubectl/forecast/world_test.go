// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/nodelease"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster, and the maintenance that is forecast.
type world struct {
	facts Facts
	pods  int
}

func newWorld() *world {
	w := &world{facts: Facts{Cluster: plan.Facts{Now: noon, Pods: []*corev1.Pod{}}, Planned: "planned"}}
	w.facts.Maintenances.JobNamespace = "slipway-system-jobs"
	w.facts.Cluster.Drains.Budgets = map[string][]*policyv1.PodDisruptionBudget{}
	return w
}

// node is a Ready one for 20 pods, with the words of a script: zone=a, control-plane, down,
// pods=web:2, out, out-for=other, returned, failed, failed-back, leased=ada.
func (w *world) node(name string, words ...string) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("20")}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	fact := maintenance.Node{Node: n}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "zone":
			n.Labels["zone"] = value
		case "control-plane":
			n.Labels["node-role.kubernetes.io/control-plane"] = ""
		case "leased":
			fact.Lease, w.facts.Maintenances.Leases = nodelease.Held{Holder: value, Purpose: "new disk"}, true
		case "not-selected":
			n.Labels["spared"] = ""
		case "down":
			n.Status.Conditions[0].Status = corev1.ConditionFalse
		case "pods":
			app, count, _ := strings.Cut(value, ":")
			number, err := strconv.Atoi(count)
			if err != nil {
				return err
			}
			for range number {
				w.pod(app, name)
			}
		case "out":
			w.out(n, maintenance.Ref{UID: "planned", Name: "night"})
		case "out-for":
			w.out(n, maintenance.Ref{UID: types.UID(value), Name: value})
		case "returned":
			fact.Records = append(fact.Records, maintenance.Record{UID: "planned", State: maintenance.RecordReturned})
		case "failed-back", "failed":
			fact.Records = append(fact.Records, maintenance.Record{UID: "planned", State: maintenance.RecordFailed, Reason: "JobFailed", Message: "the Job has failed"})
			if key == "failed" {
				w.out(n, maintenance.Ref{UID: "planned", Name: "night"})
			}
		default:
			return fmt.Errorf("node %s: %s means nothing", name, word)
		}
	}
	w.facts.Cluster.Nodes = append(w.facts.Cluster.Nodes, n)
	w.facts.Maintenances.Nodes = append(w.facts.Maintenances.Nodes, fact)
	return nil
}

// out has the node cordoned for the event of its drain.
func (w *world) out(n *corev1.Node, of maintenance.Ref) {
	text, _ := json.Marshal([]maintenance.Ref{of}) // of strings
	event := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
		Name: maintenance.DrainName(n.Name), UID: types.UID("drain-" + n.Name),
		Labels:      map[string]string{slipwayv1alpha1.MaintenanceEventLabel: "drain"},
		Annotations: map[string]string{slipwayv1alpha1.MaintenancesAnnotation: string(text)},
		Finalizers:  []string{slipwayv1alpha1.MaintenanceEventFinalizer},
	}}
	event.Spec.BindingNode, event.Spec.TransitionName = n.Name, "drain.slm.k8s.io"
	w.facts.Maintenances.Events = append(w.facts.Maintenances.Events, event)
	n.Spec.Unschedulable = true
}

// pod is a Ready one of ReplicaSet app, or of a DaemonSet of that name if it begins with
// "every".
func (w *world) pod(app, node string) {
	w.pods++
	kind := "ReplicaSet"
	if strings.HasPrefix(app, "every") {
		kind = "DaemonSet"
	}
	w.facts.Cluster.Pods = append(w.facts.Cluster.Pods, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-%d", app, w.pods), UID: types.UID(fmt.Sprint(w.pods)), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: app, UID: types.UID(app), Controller: new(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

// budget is one of an app, as its controller has counted: "web 1 of 3", or "db 0 of 1".
func (w *world) budget(app string, allowed, healthy int32) {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: app}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	b.Spec.MinAvailable = new(intstr.FromInt32(healthy - allowed))
	b.Status = policyv1.PodDisruptionBudgetStatus{
		DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: healthy - allowed, ExpectedPods: healthy,
	}
	w.facts.Cluster.Drains.Budgets["shop"] = append(w.facts.Cluster.Drains.Budgets["shop"], b)
}

// maintenance is the one that is planned, of all nodes but those that are spared.
func (w *world) maintenance() *slipwayv1alpha1.NodeMaintenance {
	m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "night", UID: "planned", CreationTimestamp: metav1.Time{Time: noon}}}
	m.Spec.NodeSelector.NodeSelectorTerms = []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "spared", Operator: corev1.NodeSelectorOpDoesNotExist}},
	}}
	m.Spec.Stage = slipwayv1alpha1.StageDrain
	m.Spec.Rollout = &slipwayv1alpha1.MaintenanceRollout{}
	return m
}

// set changes the maintenance by the arguments of a script.
func set(t *testing.T, m *slipwayv1alpha1.NodeMaintenance, args []datadriven.CmdArg) {
	t.Helper()
	r := m.Spec.Rollout
	for _, arg := range args {
		value := strings.Join(arg.Vals, "")
		number, _ := strconv.ParseInt(value, 10, 32)
		switch arg.Key {
		case "max":
			r.MaxUnavailable = new(intstr.Parse(value))
		case "key":
			r.TopologyKey = value
		case "per-domain":
			r.PerDomain = new(int32(number))
		case "batches":
			r.Batches = true
		case "pause-after":
			r.PauseAfter = new(int32(number))
		case "failure-threshold":
			r.FailureThreshold = new(int32(number))
		case "max-pending":
			r.MaxPendingPods = new(int32(number))
		case "together":
			m.Spec.Rollout = nil
		case "stage":
			m.Spec.Stage = slipwayv1alpha1.MaintenanceStage(value)
		case "paused":
			m.Spec.Paused = true
		case "began":
			m.Status.StageStatuses = []slipwayv1alpha1.MaintenanceStageStatus{{Name: slipwayv1alpha1.StageDrain, StartTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}}}
		case "not-before", "deadline":
			after, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			if m.Spec.Window == nil {
				m.Spec.Window = &slipwayv1alpha1.MaintenanceWindow{}
			}
			at := &metav1.Time{Time: noon.Add(after)}
			if arg.Key == "deadline" {
				m.Spec.Window.Deadline = at
			} else {
				m.Spec.Window.NotBefore = at
			}
		case "job":
			m.Spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob, PodTemplate: value}
		default:
			t.Fatalf("%s means nothing", arg.Key)
		}
	}
}
