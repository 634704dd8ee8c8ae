// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// Parse reads spec.parameters of an event, which may be empty: what they ask of a drain of
// a node that is named later. An error names the field that is wrong.
func Parse(raw []byte) (drain.Request, error) {
	p, err := parse(raw)
	if err != nil {
		return drain.Request{}, err
	}
	request, err := requestOf(p)
	if err != nil {
		return drain.Request{}, err
	}
	return request, nil
}

func requestOf(p *slipwayv1alpha1.DrainParameters) (drain.Request, error) {
	root := field.NewPath("spec", "parameters")
	request := drain.Request{GracePeriodSeconds: p.GracePeriodSeconds, Hold: p.Hold, PodTimeout: orZero(p.PodTimeout)}
	var err error
	if request.Mode, err = modeOf(p.Mode, root.Child("mode")); err != nil {
		return request, err
	}
	if g := p.GracePeriodSeconds; g != nil && *g < 1 {
		return request, fmt.Errorf("%s: %d must be 1 or more", root.Child("gracePeriodSeconds"), *g)
	}
	if e := p.Escalation; e != nil {
		request.Escalation = drain.Escalation{DeleteAfter: orZero(e.DeleteAfter), KillAfter: orZero(e.KillAfter)}
	}
	if p.VolumeTimeout != nil {
		request.VolumeTimeout = &p.VolumeTimeout.Duration
	}
	if request.RefuseUnmanaged, err = refuses(p.UnmanagedPods, root.Child("unmanagedPods")); err != nil {
		return request, err
	}
	if request.RefuseLocalStorage, err = refuses(p.LocalStorage, root.Child("localStorage")); err != nil {
		return request, err
	}
	for i, t := range p.Targets {
		target, err := targetOf(t, root.Child("targets").Index(i))
		if err != nil {
			return request, err
		}
		request.Targets = append(request.Targets, target)
	}
	return request, nil
}

func modeOf(mode slipwayv1alpha1.DrainMode, path *field.Path) (drain.Mode, error) {
	switch mode {
	case "":
		return "", nil
	case slipwayv1alpha1.DrainAuto:
		return drain.ModeAuto, nil
	case slipwayv1alpha1.DrainEvictionRequest:
		return drain.ModeEvictionRequest, nil
	case slipwayv1alpha1.DrainEviction:
		return drain.ModeEviction, nil
	default:
		return "", fmt.Errorf("%s: %q must be %s, %s or %s", path, mode,
			slipwayv1alpha1.DrainAuto, slipwayv1alpha1.DrainEvictionRequest, slipwayv1alpha1.DrainEviction)
	}
}

func orZero(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func refuses(policy slipwayv1alpha1.PodPolicy, path *field.Path) (bool, error) {
	switch policy {
	case "", slipwayv1alpha1.PodPolicyEvict:
		return false, nil
	case slipwayv1alpha1.PodPolicyRefuse:
		return true, nil
	default:
		return false, fmt.Errorf("%s: %q must be %s or %s", path, policy,
			slipwayv1alpha1.PodPolicyEvict, slipwayv1alpha1.PodPolicyRefuse)
	}
}

func targetOf(t slipwayv1alpha1.DrainTarget, path *field.Path) (drain.Target, error) {
	target := drain.Target{PodPriority: t.PodPriority}
	switch t.PodType {
	case slipwayv1alpha1.PodTypeDefault:
		target.PodType = drain.PodTypeDefault
	case slipwayv1alpha1.PodTypeDaemonSet:
		target.PodType = drain.PodTypeDaemonSet
	case slipwayv1alpha1.PodTypeStatic:
		target.PodType = drain.PodTypeStatic
	case "":
		return target, fmt.Errorf("%s: is missing; it must be %s, %s or %s", path.Child("podType"),
			slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic)
	default:
		return target, fmt.Errorf("%s: %q must be %s, %s or %s", path.Child("podType"), t.PodType,
			slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic)
	}
	if t.PodSelector == nil {
		return target, nil
	}
	var err error
	target.Selector, err = selectorOf(t.PodSelector, path.Child("podSelector"))
	return target, err
}

func selectorOf(s *metav1.LabelSelector, path *field.Path) (labels.Selector, error) {
	wrong := metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
	if len(wrong) > 0 {
		return nil, wrong[0]
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return selector, nil
}
