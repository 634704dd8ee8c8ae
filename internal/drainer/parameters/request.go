// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// modeOf and podTypeOf take over values that drain calls by the same names.
func modeOf(mode slipwayv1alpha1.DrainMode, path *field.Path) (drain.Mode, error) {
	if mode == "" {
		return "", nil
	}
	return drain.Mode(mode), oneOf(path, mode, slipwayv1alpha1.DrainAuto, slipwayv1alpha1.DrainEvictionRequest, slipwayv1alpha1.DrainEviction)
}

func podTypeOf(t slipwayv1alpha1.PodType, path *field.Path) (drain.PodType, error) {
	return drain.PodType(t), oneOf(path, t, slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic)
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

func orZero(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func refuses(policy slipwayv1alpha1.PodPolicy, path *field.Path) (bool, error) {
	if policy == "" {
		return false, nil
	}
	return policy == slipwayv1alpha1.PodPolicyRefuse, oneOf(path, policy, slipwayv1alpha1.PodPolicyEvict, slipwayv1alpha1.PodPolicyRefuse)
}

func targetOf(t slipwayv1alpha1.DrainTarget, path *field.Path) (drain.Target, error) {
	podType, err := podTypeOf(t.PodType, path.Child("podType"))
	target := drain.Target{PodType: podType, PodPriority: t.PodPriority}
	if err != nil {
		return target, err
	}
	if t.PodSelector == nil {
		return target, nil
	}
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

// StaticPods returns the expected removal of a static pod, as its Node reports it.
func StaticPods(node *corev1.Node, pod *corev1.Pod) drain.Removal {
	e := staticpod.Expect(node, pod)
	return drain.Removal{Left: e.Left, Able: e.Able, Trouble: e.Trouble}
}
