// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

// perform performs one step.
func (o *Overseer) perform(ctx context.Context, facts oversight.Facts, step oversight.Step) (err error) {
	if subject(step) != (whatFor{}) { // it ends an event, or lets it pass
		if step, err = o.confirm(ctx, facts, step); err != nil {
			return err
		}
	}
	switch s := step.(type) {
	case oversight.WriteStatus:
		return o.writeStatus(ctx, facts.NodeName, s)
	case oversight.RemoveGate:
		log.FromContext(ctx).Info("Let pass by the guards", "event", s.Event.Name)
		var finalizers []string
		if s.Holds {
			finalizers = append(finalizers, lifecyclev1alpha1.HoldFinalizer)
		}
		return o.Recorder.RemoveGate(ctx, s.Event, lifecyclev1alpha1.GateGuards, finalizers...)
	case oversight.UnprotectHold:
		return o.Recorder.Unprotect(ctx, s.Event, lifecyclev1alpha1.HoldFinalizer)
	case oversight.TakeHold:
		log.FromContext(ctx).Info("The node is held", "event", s.Event.Name, "by", hold.Actor(s.Hold))
		return o.Recorder.CreateHold(ctx, s.Hold)
	case oversight.ReleaseHold:
		log.FromContext(ctx).Info("The node is no longer held", "event", s.Hold.Spec.EventName, "by", hold.Actor(s.Hold), "releasedBy", releaser(facts, s))
		if err := o.Recorder.DeleteHold(ctx, s.Hold); err != nil || s.Notice == "" {
			return err
		}
		o.Observer.Node(facts.NodeName).HoldReleased(s.Hold, s.Notice)
		return nil
	case oversight.MarkOverdue:
		return o.Recorder.MarkOverdue(ctx, s.Hold, s.Overdue)
	case oversight.ShowHolders:
		return o.Writer(facts.NodeName).ShowHolders(ctx, s.Text)
	case oversight.MarkNode:
		_, err := o.Writer(facts.NodeName).Mark(ctx, s.Conditions)
		return err
	case oversight.Unprotect:
		if s.Uncordon {
			if err := o.Writer(facts.NodeName).Release(ctx, s.Event.UID); err != nil {
				return err
			}
		}
		return o.Recorder.Unprotect(ctx, s.Event, lifecyclev1alpha1.ClaimProtectionFinalizer)
	case oversight.Delete:
		return o.Recorder.Delete(ctx, s.Event)
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

// releaser names the event, or the person, that has released a hold, for the log.
func releaser(facts oversight.Facts, s oversight.ReleaseHold) string {
	if s.Event != nil {
		return s.Event.Name
	}
	return facts.Node.Annotations[hold.UncordonedBy]
}

// writeStatus writes a status, and reports it in logs and metrics.
func (o *Overseer) writeStatus(ctx context.Context, node string, s oversight.WriteStatus) error {
	if _, err := o.Recorder.WriteStatus(ctx, s.Event, s.Status); err != nil {
		return err
	}
	o.Observer.Node(node).Wrote(s.Event, s.Status, o.Clock.Now())
	logger := log.FromContext(ctx).WithValues("event", s.Event.Name, "transition", s.Event.Spec.TransitionName)
	if s.Ends() {
		logger.Info("Ended for an agent that does not", "phase", s.Status.ClaimStatus)
	} else {
		logger.V(1).Info("Noted", "conditions", s.Status.Conditions)
	}
	return nil
}
