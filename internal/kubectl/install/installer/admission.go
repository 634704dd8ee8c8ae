// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// admissionPeriod is how often it is tried whether events can be created.
const admissionPeriod = 200 * time.Millisecond

// awaitAdmission returns when the admission policies are in force, and the API server has
// the schemas that they need. Until then it may answer 503, and no watch shows when that
// ends: an event and a maintenance are created as dry runs.
func (c *Cluster) awaitAdmission(ctx context.Context, group string, mutates bool) error {
	in := apigroup.In(group)
	kinds, err := client.New(c.config, client.Options{HTTPClient: c.http, Scheme: in.Scheme(), Mapper: in.Mapper()})
	if err != nil {
		return fmt.Errorf("build the client for %s: %w", group, err)
	}
	event := lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "install-"},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "none", BindingNode: "none"},
	}
	maintenance := slipwayv1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "install-"},
		Spec: slipwayv1alpha1.NodeMaintenanceSpec{NodeSelector: corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"none"}}},
		}}}},
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, admissionPeriod, true, func(ctx context.Context) (bool, error) {
		e, m := event.DeepCopy(), maintenance.DeepCopy()
		last = errors.Join(kinds.Create(ctx, e, client.DryRunAll), kinds.Create(ctx, m, client.DryRunAll))
		return last == nil && (!mutates || e.Spec.RequestedBy != "" && m.Spec.RequestedBy != ""), nil
	})
	if err != nil {
		return fmt.Errorf("wait until events and maintenances are accepted: %w", errors.Join(err, last))
	}
	return nil
}

// typeCheckLimit limits the wait for the type check of policies, which a controller of Kubernetes does.
const typeCheckLimit = 30 * time.Second

// checkPolicies fails if the API server has found expressions in the policies of the release that do not fit its types: such a
// policy rejects all requests that it matches, or checks nothing. A cluster that does not check them is accepted.
func (c *Cluster) checkPolicies(ctx context.Context, r release.Release) error {
	var policies []string
	for _, o := range r.Objects {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			policies = append(policies, o.GetName())
		}
	}
	var warnings error
	err := wait.PollUntilContextTimeout(ctx, admissionPeriod, typeCheckLimit, true, func(ctx context.Context) (bool, error) {
		list, err := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("list the admission policies: %w", err)
		}
		checked := true
		warnings = nil
		for i := range list.Items {
			p := &list.Items[i]
			if !slices.Contains(policies, p.Name) {
				continue
			}
			checked = checked && p.Status.ObservedGeneration >= p.Generation
			if p.Status.TypeChecking == nil {
				continue
			}
			for _, w := range p.Status.TypeChecking.ExpressionWarnings {
				warnings = errors.Join(warnings, fmt.Errorf("ValidatingAdmissionPolicy %s: %s: %s", p.Name, w.FieldRef, w.Warning))
			}
		}
		return checked, nil
	})
	if warnings != nil {
		return fmt.Errorf("the API server warns of these expressions: delete the bindings of these policies if they reject requests, and report this: %w", warnings)
	}
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil
	}
	return err
}
