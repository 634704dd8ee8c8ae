// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// perform does one step.
func (s *Shepherd) perform(ctx context.Context, facts shutdown.Facts, step shutdown.Step) error {
	switch step := step.(type) {
	case shutdown.Create:
		return s.create(ctx, step.Event)
	case shutdown.Cancel:
		log.FromContext(ctx).Info("Canceling the drain: it is not needed any more", "event", step.Event.Name)
		return s.Recorder.Delete(ctx, step.Event)
	case shutdown.Note:
		return s.note(ctx, facts, step.Drain)
	case shutdown.LetGo:
		changed := step.Event.DeepCopy()
		changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == shutdown.Finalizer })
		_, err := s.Recorder.Change(ctx, step.Event, changed)
		return err
	case shutdown.Return:
		return s.giveBack(ctx, facts, step)
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

func (s *Shepherd) create(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) error {
	_, err := s.Recorder.Create(ctx, event)
	if apierrors.IsAlreadyExists(err) { // one without our finalizer: somebody has taken that off, or made it
		return fmt.Errorf("LifecycleEvent %s is in the way of a shutdown: delete it", event.Name)
	}
	if err != nil {
		return err
	}
	log.FromContext(ctx).Info("The machine is being shut down: asked for its drain", "event", event.Name, "sla", event.Spec.SLA.Duration)
	faultpoint.Reach(faultpoint.ShutdownEventCreated)
	return nil
}

func (s *Shepherd) note(ctx context.Context, facts shutdown.Facts, drain shutdown.Drain) error {
	text, err := drain.Text()
	if err != nil {
		return err
	}
	if err := s.Writer(facts.NodeName).RecordShutdownDrain(ctx, facts.Node, text); err != nil {
		return err
	}
	log.FromContext(ctx).Info("The drain for a shutdown has ended", "event", drain.Event, "outcome", drain.Outcome)
	faultpoint.Reach(faultpoint.ShutdownDrainNoted)
	return nil
}

// giveBack undoes what was done for a shutdown. What the Node says of it goes last: until
// then, whoever begins anew does it again.
func (s *Shepherd) giveBack(ctx context.Context, facts shutdown.Facts, step shutdown.Return) error {
	writer := s.Writer(facts.NodeName)
	if step.UID != "" {
		if err := writer.Release(ctx, step.UID); err != nil {
			return err
		}
	}
	faultpoint.Reach(faultpoint.ShutdownReleased)
	if len(step.Conditions) > 0 {
		if _, err := writer.Mark(ctx, step.Conditions); err != nil {
			return err
		}
	}
	if err := writer.ForgetShutdown(ctx, facts.Node, step.Forget); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Returned the node after a shutdown", "ended", step.Ended)
	if step.Ended != "" {
		s.Ended(step.Ended)
	}
	return nil
}
