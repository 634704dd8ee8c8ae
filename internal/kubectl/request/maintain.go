// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Maintain is what the flags of a maintenance say. Zero is what is not said.
type Maintain struct {
	// Stage is how far it may go: idle, cordon or drain. Empty: drain.
	Stage string
	// Reason is for people.
	Reason string
	// Together takes all nodes out at the same time, without a rollout.
	Together bool
	// AllControlPlaneNodes allows that for all nodes of the control plane.
	AllControlPlaneNodes bool
	// LastSchedulableNode allows to take out the node after which pods have none to go to.
	LastSchedulableNode bool
	// Rollout is how many nodes are out at a time.
	Rollout
	// Job is the name of a PodTemplate; Work is manual or none. At most one of them.
	Job, Work string
	// BackoffLimit is how often a pod of the Job may fail. Negative: as often as Jobs have it.
	BackoffLimit int32
	// WorkTimeout is how long the work may take on a node.
	WorkTimeout time.Duration
	// NotBefore and Deadline are moments, see [Moment]; the latter counts from the former.
	NotBefore, Deadline string
	// AtDeadline is finish or cancel.
	AtDeadline string
	// Hooks are NAME@MOMENT[:TIMEOUT[:proceed]].
	Hooks []string
	// GracePeriod is how many seconds each pod may take to end. Negative: its own.
	GracePeriod int
	// PodTimeout is how long a drain waits for a pod before the next ones leave, DrainTimeout
	// how long a drain may take.
	PodTimeout, DrainTimeout time.Duration
	// Mode says who makes pods leave, as DrainParameters do.
	Mode string
}

// Maintenance is the object that is asked for. Now is for moments that are not absolute. An
// error is about a flag, or about the name.
func (m Maintain) Maintenance(name string, nodes corev1.NodeSelector, now time.Time) (*slipwayv1alpha1.NodeMaintenance, error) {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return nil, fmt.Errorf("%q is no name of a NodeMaintenance: %s", name, wrong[0])
	}
	made := &slipwayv1alpha1.NodeMaintenance{
		TypeMeta:   metav1.TypeMeta{APIVersion: slipwayv1alpha1.GroupVersion.String(), Kind: "NodeMaintenance"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       slipwayv1alpha1.NodeMaintenanceSpec{NodeSelector: nodes, Reason: m.Reason},
	}
	spec := &made.Spec
	if m.AllControlPlaneNodes {
		spec.Allow = append(spec.Allow, slipwayv1alpha1.GuardAllControlPlaneNodes)
	}
	if m.LastSchedulableNode {
		spec.Allow = append(spec.Allow, slipwayv1alpha1.GuardLastSchedulableNode)
	}
	for _, part := range []func(*slipwayv1alpha1.NodeMaintenanceSpec) error{
		m.stage, m.rollout, m.work, m.drain,
		func(spec *slipwayv1alpha1.NodeMaintenanceSpec) error { return m.window(spec, now) },
	} {
		if err := part(spec); err != nil {
			return nil, err
		}
	}
	var err error
	spec.Hooks, err = hooks(m.Hooks)
	return made, err
}

func (m Maintain) stage(spec *slipwayv1alpha1.NodeMaintenanceSpec) error {
	stage, err := StageNamed(m.Stage)
	switch {
	case m.Stage == "":
		spec.Stage = slipwayv1alpha1.StageDrain
		return nil
	case err != nil:
		return fmt.Errorf("--stage: %w", err)
	case stage == slipwayv1alpha1.StageComplete:
		return errors.New("--stage: Complete is where a maintenance ends; begin it with idle, cordon or drain")
	default:
		spec.Stage = stage
		return nil
	}
}

// StageNamed is the stage of a name, however it is written.
func StageNamed(name string) (slipwayv1alpha1.MaintenanceStage, error) {
	for _, stage := range []slipwayv1alpha1.MaintenanceStage{
		slipwayv1alpha1.StageIdle, slipwayv1alpha1.StageCordon, slipwayv1alpha1.StageDrain, slipwayv1alpha1.StageComplete,
	} {
		if strings.EqualFold(string(stage), name) {
			return stage, nil
		}
	}
	return "", fmt.Errorf("there is no stage %q; there are idle, cordon, drain and complete", name)
}

func (m Maintain) drain(spec *slipwayv1alpha1.NodeMaintenanceSpec) error {
	drain := slipwayv1alpha1.MaintenanceDrain{PodTimeout: lasting(m.PodTimeout), Timeout: lasting(m.DrainTimeout)}
	mode, err := modeOf(m.Mode)
	switch {
	case err != nil:
		return err
	case m.GracePeriod == 0:
		return errNoGrace
	case m.GracePeriod > 0:
		seconds := int64(m.GracePeriod)
		drain.GracePeriodSeconds = &seconds
	}
	if m.PodTimeout < 0 {
		return fmt.Errorf("--pod-timeout: %s is not a time to wait", m.PodTimeout)
	}
	if m.DrainTimeout < 0 {
		return fmt.Errorf("--drain-timeout: %s is not a time that a drain can take", m.DrainTimeout)
	}
	drain.Mode = mode
	if drain != (slipwayv1alpha1.MaintenanceDrain{}) {
		spec.Drain = &drain
	}
	return nil
}

// lasting is a time as an object has it. 0: it is not said.
func lasting(d time.Duration) *metav1.Duration {
	if d == 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}
