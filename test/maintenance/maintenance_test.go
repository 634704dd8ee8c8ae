// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// Maintenance is a NodeMaintenance of a test's.
type Maintenance struct {
	Name string

	env *harness.Env
	t   *testing.T
}

// Selecting selects the nodes of a group.
func Selecting(group string) corev1.NodeSelector {
	return corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: harness.GroupLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{group}}},
	}}}
}

// maintain creates a maintenance of the nodes of a group, in stage Drain unless a change
// says otherwise.
func maintain(t *testing.T, e *harness.Env, name, group string, changes ...func(*slipwayv1alpha1.NodeMaintenanceSpec)) *Maintenance {
	t.Helper()
	m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.NodeSelector, m.Spec.Stage = Selecting(group), slipwayv1alpha1.StageDrain
	for _, change := range changes {
		change(&m.Spec)
	}
	if err := e.Client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		none := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		e.DeleteQuietly(m)
		_ = e.Client.Patch(context.Background(), m.DeepCopy(), none) // where a test has failed, nobody may be there to do it
	})
	return &Maintenance{Name: name, env: e, t: t}
}

// Change changes its spec.
func (m *Maintenance) Change(change func(*slipwayv1alpha1.NodeMaintenanceSpec)) {
	m.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var o slipwayv1alpha1.NodeMaintenance
		if err := m.env.Client.Get(m.t.Context(), client.ObjectKey{Name: m.Name}, &o); err != nil {
			return err
		}
		change(&o.Spec)
		return m.env.Client.Update(m.t.Context(), &o)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// Await waits until it is as wanted.
func (m *Maintenance) Await(what string, wanted func(*slipwayv1alpha1.NodeMaintenance) bool) *slipwayv1alpha1.NodeMaintenance {
	m.t.Helper()
	return harness.Await(m.t, m.env, "maintenance "+m.Name+" "+what, &slipwayv1alpha1.NodeMaintenanceList{}, wanted, harness.Named(m.Name))
}

// AwaitCondition waits until it has a condition with that status and reason, which speaks
// of what is asked for now.
func (m *Maintenance) AwaitCondition(condition string, status metav1.ConditionStatus, reason string) *slipwayv1alpha1.NodeMaintenance {
	m.t.Helper()
	return m.Await(fmt.Sprintf("has condition %s=%s for %s", condition, status, reason), func(o *slipwayv1alpha1.NodeMaintenance) bool {
		c := meta.FindStatusCondition(o.Status.Conditions, condition)
		return c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == o.Generation
	})
}

// AwaitCompleted waits until no node needs anything any more.
func (m *Maintenance) AwaitCompleted() *slipwayv1alpha1.NodeMaintenance {
	m.t.Helper()
	return m.AwaitCondition(slipwayv1alpha1.MaintenanceCompleted, metav1.ConditionTrue, slipwayv1alpha1.ReasonCompleted)
}

// AwaitNode waits until it says that a node is in the phase, for the reason if one is given.
func (m *Maintenance) AwaitNode(node string, phase slipwayv1alpha1.MaintenanceNodePhase, reason string) *slipwayv1alpha1.MaintenanceNodeStatus {
	m.t.Helper()
	var found slipwayv1alpha1.MaintenanceNodeStatus
	m.Await(fmt.Sprintf("has node %s %s %s", node, phase, reason), func(o *slipwayv1alpha1.NodeMaintenance) bool {
		for _, n := range o.Status.NodeStatuses {
			if n.Name == node && n.Phase == phase && (reason == "" || n.Reason == reason) {
				found = n
				return true
			}
		}
		return false
	})
	return &found
}

// Delete deletes it, and returns when nothing is left of it: it is gone, and so are its
// events, its Jobs and what its nodes said of it.
func (m *Maintenance) Delete() {
	m.t.Helper()
	m.AwaitGone(m.BeginDelete())
}

// isSaid says whether a Node says that the maintenance is planned or going on.
func (m *Maintenance) isSaid(o client.Object) bool {
	node, ok := o.(*corev1.Node)
	return ok && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return strings.HasPrefix(string(c.Type), "Maintenance") && c.Status == corev1.ConditionTrue && names(c.Message, m.Name)
	})
}

// names says whether a list as in "a (not before T), b" has the name.
func names(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ", "), func(of string) bool {
		of, _, _ = strings.Cut(of, " (")
		return of == name
	})
}

// BeginDelete deletes it, and returns its UID.
func (m *Maintenance) BeginDelete(how ...client.DeleteOption) string {
	m.t.Helper()
	var o slipwayv1alpha1.NodeMaintenance
	if err := m.env.Client.Get(m.t.Context(), client.ObjectKey{Name: m.Name}, &o); err != nil {
		m.t.Fatal(err)
	}
	m.env.Delete(m.t, &o, how...)
	return string(o.UID)
}

// AwaitGone waits until nothing is left of the maintenance with this UID.
func (m *Maintenance) AwaitGone(uid string) {
	m.t.Helper()
	harness.AwaitNone[*slipwayv1alpha1.NodeMaintenance](m.t, m.env, &slipwayv1alpha1.NodeMaintenanceList{}, harness.Named(m.Name))
	ours := client.HasLabels{slipwayv1alpha1.MaintenanceEventLabel}
	mentioned := func(o client.Object) bool {
		return strings.Contains(o.GetAnnotations()[slipwayv1alpha1.MaintenancesAnnotation], uid)
	}
	m.env.AwaitNoneThat(m.t, &lifecyclev1alpha1.LifecycleEventList{}, mentioned, ours)
	m.env.AwaitNoneThat(m.t, &corev1.NodeList{}, mentioned)
	m.env.AwaitNoneThat(m.t, &corev1.NodeList{}, m.isSaid)
	m.env.AwaitNoneThat(m.t, &batchv1.JobList{}, func(o client.Object) bool {
		owners := fmt.Sprint(o.GetOwnerReferences(), o.GetAnnotations(), o.GetLabels())
		return strings.Contains(owners, uid)
	}, ours, client.InNamespace(harness.JobNamespace))
}

// AwaitEnd waits until nothing is done for it any more, and no node is out, whether or not
// all of them are done with.
func (m *Maintenance) AwaitEnd() *slipwayv1alpha1.NodeMaintenance {
	m.t.Helper()
	return m.Await("has ended", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		c := meta.FindStatusCondition(o.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.Generation && o.Status.Nodes.Out == 0
	})
}
