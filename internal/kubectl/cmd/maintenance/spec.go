// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

// object returns the maintenance of the flags. The times in the flags are relative to now.
func (m *maintainFlags) object(now time.Time) (*slipwayv1alpha1.NodeMaintenance, error) {
	spec := m.spec
	spec.Stage = cmp.Or(spec.Stage, slipwayv1alpha1.StageDrain)
	var err error
	if spec.NodeSelector, err = selectorOf(m.nodes.Named, m.nodes.Selector); err != nil {
		return nil, err
	}
	if m.allControlPlaneNodes {
		spec.Allow = append(spec.Allow, slipwayv1alpha1.GuardAllControlPlaneNodes)
	}
	if m.lastSchedulableNode {
		spec.Allow = append(spec.Allow, slipwayv1alpha1.GuardLastSchedulableNode)
	}
	if m.includeHeld {
		spec.HeldNodes = slipwayv1alpha1.HeldNodesTakeOver
	}
	if !m.together {
		spec.Rollout = &m.rollout
	}
	if m.ladder != (slipwayv1alpha1.DrainEscalation{}) {
		m.drain.Escalation = &m.ladder
	}
	if m.drain != (slipwayv1alpha1.MaintenanceDrain{}) {
		spec.Drain = &m.drain
	}
	if m.work.Type == slipwayv1alpha1.WorkNone && m.work.Timeout != nil {
		return nil, errors.New("--work-timeout limits work, and --work none requests none")
	}
	if m.work != (slipwayv1alpha1.MaintenanceWork{}) {
		if m.work.PodTemplate != "" {
			m.work.Type = slipwayv1alpha1.WorkJob
		}
		m.work.Type = cmp.Or(m.work.Type, slipwayv1alpha1.WorkManual)
		spec.Work = &m.work
	}
	if err := m.addTimes(now); err != nil {
		return nil, err
	}
	if m.window != (slipwayv1alpha1.MaintenanceWindow{}) {
		spec.Window = &m.window
	}
	return &slipwayv1alpha1.NodeMaintenance{
		TypeMeta:   metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "NodeMaintenance"},
		ObjectMeta: metav1.ObjectMeta{Name: m.name},
		Spec:       spec,
	}, nil
}

// addTimes reads --not-before and --deadline.
func (m *maintainFlags) addTimes(now time.Time) error {
	from := now
	if m.notBefore != "" {
		at, err := cli.Moment(m.notBefore, now)
		if err != nil {
			return fmt.Errorf("--not-before: %w", err)
		}
		from, m.window.NotBefore = at, &metav1.Time{Time: at}
	}
	if m.deadline == "" && m.window.AtDeadline != "" {
		return errors.New("--at-deadline needs --deadline")
	}
	if m.deadline == "" {
		return nil
	}
	at, err := cli.Moment(m.deadline, from)
	if err == nil && !at.After(from) {
		err = fmt.Errorf("%s is not after %s", at.Format(time.RFC3339), from.Format(time.RFC3339))
	}
	if err != nil {
		return fmt.Errorf("--deadline: %w", err)
	}
	m.window.Deadline = &metav1.Time{Time: at}
	return nil
}

// parseLimit reads a number of nodes, such as 3, or a percentage, such as 20%.
func parseLimit(text string) (intstr.IntOrString, error) {
	limit := intstr.Parse(text)
	if n, err := intstr.GetScaledValueFromIntOrPercent(&limit, 100, true); err != nil || n < 1 {
		return limit, errors.New("write a number of at least 1, such as 3, or a percentage, such as 20%")
	}
	return limit, nil
}

// hookPoints and hookTimeouts are the words of --hook.
var (
	hookPoints = map[string]slipwayv1alpha1.HookPoint{
		"before-drain": slipwayv1alpha1.BeforeDrain, "after-drain": slipwayv1alpha1.AfterDrain, "before-return": slipwayv1alpha1.BeforeReturn,
	}
	hookTimeouts = map[string]slipwayv1alpha1.HookTimeout{
		"": "", "fail": slipwayv1alpha1.HookFails, "proceed": slipwayv1alpha1.HookProceeds,
	}
)

// addHook reads NAME@POINT[:TIMEOUT[:proceed]].
func (m *maintainFlags) addHook(text string) error {
	name, rest, _ := strings.Cut(text, "@")
	point, rest, limited := strings.Cut(rest, ":")
	limit, then, _ := strings.Cut(rest, ":")
	hook := slipwayv1alpha1.MaintenanceHook{Name: name, At: hookPoints[point]}
	timeout, err := time.ParseDuration(cmp.Or(limit, "0"))
	onTimeout, known := hookTimeouts[then]
	if name == "" || hook.At == "" || err != nil || !known || limited && timeout <= 0 {
		return errors.New("write NAME@before-drain, NAME@after-drain or NAME@before-return, with a time limit such as :30m or :30m:proceed")
	}
	if limited {
		hook.Timeout, hook.OnTimeout = &metav1.Duration{Duration: timeout}, onTimeout
	}
	m.spec.Hooks = append(m.spec.Hooks, hook)
	return nil
}

// selectorOf selects nodes by their names, or by labels as on a command line. A term matches a field
// with one value only, so there is a term for each name.
func selectorOf(names []string, labels string) (selector corev1.NodeSelector, err error) {
	for _, name := range names {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		})
	}
	if labels == "" {
		return selector, nil
	}
	parsed, err := request.Selector(labels)
	if err != nil {
		return selector, fmt.Errorf("--selector: %w", err)
	}
	var term corev1.NodeSelectorTerm
	for _, e := range parsed.MatchExpressions {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: e.Key, Operator: corev1.NodeSelectorOperator(e.Operator), Values: e.Values})
	}
	if len(term.MatchExpressions) == 0 {
		return selector, errors.New("--selector: name at least one label: a selector without labels selects no node")
	}
	selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	return selector, nil
}
