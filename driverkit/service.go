// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// service turns requests into calls of the driver.
type service struct {
	driverv1.UnimplementedSLMPluginServer

	driver Driver
	config Config
	logger klog.Logger
	// calls is read-locked by each call in progress. The shutdown locks it for writing, and
	// never unlocks it: that rejects new calls, and waits for earlier calls. gRPC's own graceful
	// stop waits for calls without limit, and blocks the immediate stop in this time.
	calls sync.RWMutex
	// closing ends when the driver shuts down: delayed answers are then sent at once.
	closing context.Context //nolint:containedctx // a signal; no call is made with it
}

// method is a method of [Driver].
type method func(context.Context, Call) (Answer, error)

// StartLifecycleTransition is the contract's first call for an event.
func (s *service) StartLifecycleTransition(ctx context.Context, req *driverv1.StartLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	return s.answer(ctx, "Start", s.driver.Start, toCall(req, s.config.NodeName))
}

// EndLifecycleTransition is the contract's call for the progress of an event, and with
// sla_expired its last call.
func (s *service) EndLifecycleTransition(ctx context.Context, req *driverv1.EndLifecycleTransitionRequest) (*driverv1.LifecycleTransitionResponse, error) {
	call := toCall(req, s.config.NodeName)
	if req.GetSlaExpired() {
		return s.answer(ctx, "Stop", s.driver.Stop, call)
	}
	if call.Wait = toWait(req); call.Wait > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.closing, func() { cancel(ErrShutdown) })()
	}
	return s.answer(ctx, "End", s.driver.End, call)
}

// answer calls the driver, and translates its errors for the caller.
func (s *service) answer(ctx context.Context, name string, do method, call Call) (*driverv1.LifecycleTransitionResponse, error) {
	if !s.calls.TryRLock() {
		return nil, status.Error(codes.Unavailable, ErrShutdown.Error())
	}
	defer s.calls.RUnlock()
	if err := s.check(call); err != nil {
		return nil, err
	}
	logger := s.logger.WithValues("event", call.Event, "eventUID", call.EventUID, "transition", call.Transition)
	logger.V(2).Info("Called", "method", name)
	ctx = klog.NewContext(ctx, logger)

	answer, err := guarded(ctx, do, call)
	switch {
	case err == nil:
		return toResponse(call, answer), nil
	case ctx.Err() != nil:
		return nil, status.Errorf(codes.Unavailable, "%v: %v", context.Cause(ctx), err)
	case errors.Is(err, ErrTryAgain):
		return nil, status.Error(codes.Unavailable, err.Error())
	default:
		logger.Info("Failed", "method", name, "reason", err.Error())
		response := toResponse(call, answer)
		response.LifecycleCondition = call.StartState
		response.Error = err.Error()
		return response, nil
	}
}

// check rejects calls that must not reach the driver.
func (s *service) check(call Call) error {
	switch {
	case s.config.AnyNode && call.Node == "":
		return status.Errorf(codes.InvalidArgument, "node_name is required: driver %s works on all nodes", s.config.DriverName)
	case !s.config.AnyNode && call.Node != s.config.NodeName:
		return status.Errorf(codes.InvalidArgument, "node_name is %q, but driver %s works on node %q only",
			call.Node, s.config.DriverName, s.config.NodeName)
	case call.Event == "" && call.EventUID == "":
		return status.Error(codes.InvalidArgument, "event_name is required")
	case call.StartState == "":
		return status.Error(codes.InvalidArgument, "start is required")
	case call.EndState == "":
		return status.Error(codes.InvalidArgument, "end is required")
	default:
		return nil
	}
}

// panicError is a panic of a driver as an error.
type panicError struct{ value any }

func (p panicError) Error() string { return fmt.Sprintf("the driver panicked: %v", p.value) }

// guarded converts a panic into an error; [Driver] has the reason.
func guarded(ctx context.Context, do method, call Call) (answer Answer, err error) {
	defer func() { err = recovered(ctx, recover(), err) }()
	return do(ctx, call)
}

// recovered returns err, or the panic with that value as an error.
func recovered(ctx context.Context, value any, err error) error {
	if value == nil {
		return err
	}
	err = panicError{value: value}
	klog.FromContext(ctx).Error(err, "The driver panicked; the event fails", "stack", string(debug.Stack()))
	return err
}
