// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// Parse reads spec.parameters of an event, which may be empty. The Request has no NodeName. An
// error names the field that is wrong.
func Parse(raw []byte) (drain.Request, error) {
	p, err := parse(raw)
	if err != nil {
		return drain.Request{}, err
	}
	return requestOf(p)
}

func requestOf(p *slipwayv1alpha1.DrainParameters) (drain.Request, error) {
	root := field.NewPath("spec", "parameters")
	// drain has the same names for modes and types of pods.
	request := drain.Request{
		Mode: drain.Mode(p.Mode), GracePeriodSeconds: p.GracePeriodSeconds, Hold: p.Hold, PassFreezes: p.PassFreezes, PodTimeout: durationOf(p.PodTimeout),
		RefuseUnmanaged:    p.UnmanagedPods == slipwayv1alpha1.PodPolicyRefuse,
		RefuseLocalStorage: p.LocalStorage == slipwayv1alpha1.PodPolicyRefuse,
	}
	if e := p.Escalation; e != nil {
		request.Escalation = drain.Escalation{DeleteAfter: durationOf(e.DeleteAfter), KillAfter: durationOf(e.KillAfter)}
	}
	if p.VolumeTimeout != nil {
		request.VolumeTimeout = &p.VolumeTimeout.Duration
	}
	if g := p.GracePeriodSeconds; g != nil && *g < 1 {
		return request, fmt.Errorf("%s: %d must be 1 or more", root.Child("gracePeriodSeconds"), *g)
	}
	if err := cmp.Or(
		oneOf(root.Child("mode"), cmp.Or(p.Mode, slipwayv1alpha1.DrainAuto),
			slipwayv1alpha1.DrainAuto, slipwayv1alpha1.DrainEvictionRequest, slipwayv1alpha1.DrainEviction),
		checkPolicy(root.Child("unmanagedPods"), p.UnmanagedPods),
		checkPolicy(root.Child("localStorage"), p.LocalStorage),
	); err != nil {
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

func checkPolicy(path *field.Path, policy slipwayv1alpha1.PodPolicy) error {
	return oneOf(path, cmp.Or(policy, slipwayv1alpha1.PodPolicyEvict), slipwayv1alpha1.PodPolicyEvict, slipwayv1alpha1.PodPolicyRefuse)
}

func oneOf[T ~string](path *field.Path, value T, allowed ...T) error {
	last := len(allowed) - 1
	names := make([]string, last)
	for i, a := range allowed[:last] {
		names[i] = string(a)
	}
	choice := fmt.Sprintf("must be %s or %s", strings.Join(names, ", "), allowed[last])
	switch {
	case slices.Contains(allowed, value):
		return nil
	case value == "":
		return fmt.Errorf("%s: is missing; it %s", path, choice)
	default:
		return fmt.Errorf("%s: %q %s", path, value, choice)
	}
}

func durationOf(d *metav1.Duration) time.Duration { return ptr.Deref(d, metav1.Duration{}).Duration }

func targetOf(t slipwayv1alpha1.DrainTarget, path *field.Path) (drain.Target, error) {
	target := drain.Target{PodType: drain.PodType(t.PodType), PodPriority: t.PodPriority}
	err := oneOf(path.Child("podType"), t.PodType, slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic)
	if err != nil || t.PodSelector == nil {
		return target, err
	}
	path = path.Child("podSelector")
	if wrong := metav1validation.ValidateLabelSelector(t.PodSelector, metav1validation.LabelSelectorValidationOptions{}, path); len(wrong) > 0 {
		return target, wrong[0]
	}
	if target.Selector, err = metav1.LabelSelectorAsSelector(t.PodSelector); err != nil {
		return target, fmt.Errorf("%s: %w", path, err)
	}
	return target, nil
}

// StaticPods returns the expected removal of a static pod, as its Node reports it.
func StaticPods(node *corev1.Node, pod *corev1.Pod) drain.Removal {
	e := staticpod.Expect(node, pod)
	return drain.Removal{Left: e.Left, Able: e.Able, Trouble: e.Trouble}
}
