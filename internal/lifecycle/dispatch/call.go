// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// outcome is an answer, or the reason for another call.
type outcome struct {
	answer  *transition.Answer
	failure string
}

// do calls the driver and waits for its answer.
func (d *Dispatcher) do(ctx context.Context, kind transition.CallKind, event *lifecyclev1alpha1.LifecycleEvent) outcome {
	ctx, cancel := context.WithTimeoutCause(ctx, CallTimeout, fmt.Errorf("no answer within %s", CallTimeout))
	defer cancel()
	client, err := d.clients.Client(event.Status.Driver.Name)
	if err != nil {
		return outcome{failure: err.Error()}
	}
	var response *driverv1.LifecycleTransitionResponse
	method, began := "StartLifecycleTransition", d.clock.Now()
	if kind == transition.CallStart {
		response, err = client.StartLifecycleTransition(ctx, d.startRequest(event))
	} else {
		method = "EndLifecycleTransition"
		response, err = client.EndLifecycleTransition(ctx, d.endRequest(kind, event))
	}
	if !errors.Is(context.Cause(ctx), errSuperseded) { // the driver has not caused it
		d.observer.Called(event.Status.Driver.Name, method, status.Code(err).String(), d.clock.Since(began))
	}
	if err != nil {
		return failed(ctx, event.Generation, err)
	}
	return outcome{answer: answerOf(response, event.Generation)}
}

// failed distinguishes an unreachable driver from a failed transition.
func failed(ctx context.Context, generation int64, err error) outcome {
	if cause := context.Cause(ctx); cause != nil {
		return outcome{failure: cause.Error()}
	}
	answer := &transition.Answer{Generation: generation}
	switch s := status.Convert(err); s.Code() {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Aborted:
		return outcome{failure: s.Message()}
	case codes.ResourceExhausted: // the answer is over the size limit
		answer.Malformed = "what cannot be received: " + s.Message()
	default:
		answer.Error = fmt.Sprintf("%s: %s", s.Code(), s.Message())
	}
	return outcome{answer: answer}
}

func (d *Dispatcher) startRequest(event *lifecyclev1alpha1.LifecycleEvent) *driverv1.StartLifecycleTransitionRequest {
	return &driverv1.StartLifecycleTransitionRequest{
		TransitionName:       event.Spec.TransitionName,
		EventName:            event.Name,
		NodeName:             d.nodeName,
		Start:                event.Status.Driver.Start,
		End:                  event.Status.Driver.End,
		Parameters:           parameters(event),
		ParametersGeneration: event.Generation,
		EventUid:             string(event.UID),
		OnlyNode:             onOnlyNode(event),
	}
}

func (d *Dispatcher) endRequest(kind transition.CallKind, event *lifecyclev1alpha1.LifecycleEvent) *driverv1.EndLifecycleTransitionRequest {
	request := &driverv1.EndLifecycleTransitionRequest{
		TransitionName:       event.Spec.TransitionName,
		EventName:            event.Name,
		NodeName:             d.nodeName,
		Start:                event.Status.Driver.Start,
		End:                  event.Status.Driver.End,
		SlaExpired:           kind == transition.CallLastEnd,
		Parameters:           parameters(event),
		ParametersGeneration: event.Generation,
		EventUid:             string(event.UID),
		OnlyNode:             onOnlyNode(event),
	}
	if kind == transition.CallEnd {
		request.Wait = durationpb.New(MaxWait)
	}
	return request
}

// onOnlyNode returns whether the guards let the event pass although its node is the only one of the cluster.
func onOnlyNode(event *lifecyclev1alpha1.LifecycleEvent) bool {
	c := lifecycleevent.Condition(event, lifecyclev1alpha1.ConditionGuardsPassed)
	return c != nil && c.Reason == lifecyclev1alpha1.ReasonOnlyNode
}

// parameters returns nil if they exceed the limit: the event then ends.
func parameters(event *lifecyclev1alpha1.LifecycleEvent) []byte {
	if event.Spec.Parameters == nil || len(event.Spec.Parameters.Raw) > lifecyclev1alpha1.MaxParametersBytes {
		return nil
	}
	return event.Spec.Parameters.Raw
}
