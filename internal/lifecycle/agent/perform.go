// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// perform performs one step. object is the object that the step writes, empty if it writes
// none, and version its resource version after the write, empty if the server does not
// return it.
func (a *Agent) perform(ctx context.Context, step transition.Step, facts transition.Facts) (object types.UID, version string, err error) {
	switch s := step.(type) {
	case transition.CheckDriver:
		a.checkDriver(s.Driver, s.Event.UID)
		return "", "", nil
	case transition.CallDriver:
		// The call outlives this pass of the loop, and ends with the agent, as ctx does.
		a.Calls.Call(ctx, s.Kind, s.Event)
		return "", "", nil
	case transition.WriteStatus:
		version, err = a.writeStatus(ctx, s)
		return s.Event.UID, version, err
	case transition.Protect:
		return s.Event.UID, "", reach(faultpoint.FinalizerSet, a.Recorder.Protect(ctx, s.Event, lifecyclev1alpha1.ClaimProtectionFinalizer))
	case transition.Unprotect:
		if s.Uncordon {
			if err := a.Node.Release(ctx, s.Event.UID); err != nil {
				return "", "", err
			}
		}
		return s.Event.UID, "", a.Recorder.Unprotect(ctx, s.Event, lifecyclev1alpha1.ClaimProtectionFinalizer)
	case transition.Delete:
		return s.Event.UID, "", reach(faultpoint.Deleted, a.Recorder.Delete(ctx, s.Event))
	case transition.DeleteTransition:
		log.FromContext(ctx).Info("Deleting a transition whose driver has left the node",
			"transition", s.Transition.Name, "driver", s.Transition.Spec.Driver)
		return s.Transition.UID, "", a.Recorder.DeleteTransition(ctx, s.Transition)
	case transition.MarkNode:
		version, err = a.markNode(ctx, s)
		return facts.Node.UID, version, err
	default:
		return "", "", fmt.Errorf("no way to perform a %T", step)
	}
}

// markNode writes conditions of the Node. The driver, which cordons it, and the kubelet write
// to it at the same time, so a change in the caches may come from another writer.
func (a *Agent) markNode(ctx context.Context, s transition.MarkNode) (version string, err error) {
	node, err := a.Node.Mark(ctx, s.Conditions)
	if node != nil {
		version = node.ResourceVersion
	}
	return version, reach(faultpoint.ConditionPatched, err)
}

func reach(point string, err error) error {
	if err == nil {
		faultpoint.Reach(point)
	}
	return err
}

// writeStatus writes a status, and reports it in logs and metrics. version is the new version of the event.
func (a *Agent) writeStatus(ctx context.Context, s transition.WriteStatus) (version string, err error) {
	if s.Purpose == transition.PurposeClaim {
		if s, err = a.confirmClaim(ctx, s); err != nil {
			return "", err
		}
	}
	reachAnswered(s)
	if version, err = a.Recorder.WriteStatus(ctx, s.Event, s.Status); err != nil {
		return "", err
	}
	if isPruned(s, version) {
		if len(a.prunes) == 0 {
			log.FromContext(ctx).Info("The LifecycleEvent CRD is older than this agent: it does not store the pods that a drain leaves to responders, " +
				"so the controller does not request their evictions. Apply the CRDs of this version")
		}
		a.prunes[s.Event.UID] = true
	}
	a.Observer.Wrote(s.Event, s.Status, a.Clock.Now())
	logger := log.FromContext(ctx).WithValues("event", s.Event.Name, "transition", s.Event.Spec.TransitionName)
	switch s.Purpose {
	case transition.PurposeClaim:
		logger.Info("Claimed", "driver", s.Status.Driver.Name, "deadline", deadlineOf(s.Status))
		faultpoint.Reach(faultpoint.Claimed)
	case transition.PurposeState:
		logger.Info("Reached a state", "state", s.Status.State)
		a.reportedAt[s.Event.UID] = a.Clock.Now()
	case transition.PurposeProgress:
		a.reportedAt[s.Event.UID] = a.Clock.Now()
	case transition.PurposeFinish:
		logger.Info("Finished", "phase", s.Status.ClaimStatus)
		faultpoint.Reach(faultpoint.TerminalWritten)
	case transition.PurposeNote:
		logger.V(1).Info("Noted", "conditions", s.Status.Conditions)
	}
	return version, nil
}

// isPruned returns whether the API server has dropped LeftToResponders: it was new in the
// status, but the write has not changed the version of the event.
func isPruned(s transition.WriteStatus, version string) bool {
	return len(s.Status.LeftToResponders) > 0 && len(s.Event.Status.LeftToResponders) == 0 && version == s.Event.ResourceVersion
}

// deadlineOf returns the deadline for the log.
func deadlineOf(status lifecyclev1alpha1.LifecycleEventStatus) string {
	if status.SLA == nil {
		return "none"
	}
	return status.SLA.UTC().Format(time.RFC3339)
}

// reachAnswered marks the moment between a driver's answer with a new state and the write of that state.
func reachAnswered(s transition.WriteStatus) {
	if s.Purpose != transition.PurposeState {
		return
	}
	if s.Status.State == s.Status.Driver.End {
		faultpoint.Reach(faultpoint.EndAnswered)
		return
	}
	faultpoint.Reach(faultpoint.StartCalled)
}

// confirmClaim decides the claim again, on the state of the API server: the cache may lack a
// claim of an earlier agent, or the registration of the driver with the other claimer.
func (a *Agent) confirmClaim(ctx context.Context, s transition.WriteStatus) (transition.WriteStatus, error) {
	facts, err := a.gather(ctx, a.Live)
	if err != nil {
		return s, err
	}
	fresh, ok := transition.Next(facts, a.Clock.Now()).Step.(transition.WriteStatus)
	if !ok || fresh.Purpose != transition.PurposeClaim || fresh.Event.UID != s.Event.UID {
		return s, fmt.Errorf("claim %T %s: %w", &lifecyclev1alpha1.LifecycleEvent{}, s.Event.Name, record.ErrStale)
	}
	return fresh, nil
}
