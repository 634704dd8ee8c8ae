// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// CallTimeout is the deadline of each call to a driver.
const CallTimeout = 45 * time.Second

// MaxWait is the time for which a driver may delay its answer to End.
const MaxWait = 30 * time.Second

// errSuperseded ends a call that a newer call replaces.
var errSuperseded = errors.New("another call for the event takes its place")

// Clients returns the connection to a registered driver.
type Clients interface {
	Client(driver string) (driverv1.SLMPluginClient, error)
}

// Observer records calls.
type Observer interface {
	// Called records the gRPC code and the duration of a call that has ended.
	Called(driver, method, code string, took time.Duration)
}

// Dispatcher calls the drivers of one node.
type Dispatcher struct {
	nodeName string
	clients  Clients
	clock    clock.PassiveClock
	observer Observer
	wake     func()

	running sync.WaitGroup
	mu      sync.Mutex
	calls   map[types.UID]*entry
}

// entry is the record of an event.
type entry struct {
	call   transition.Call
	event  *lifecyclev1alpha1.LifecycleEvent
	cancel context.CancelCauseFunc
	serial int // of the call in flight: the outcome of an older one does not count
}

// New returns a dispatcher that calls wake whenever a call has ended.
func New(nodeName string, clients Clients, clock clock.PassiveClock, observer Observer, wake func()) *Dispatcher {
	return &Dispatcher{nodeName: nodeName, clients: clients, clock: clock, observer: observer, wake: wake, calls: map[types.UID]*entry{}}
}

// Call begins a call to the driver of a claimed event and returns at once. A call
// for the event that is in flight ends. The call also ends with ctx.
func (d *Dispatcher) Call(ctx context.Context, kind transition.CallKind, event *lifecyclev1alpha1.LifecycleEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, known := d.calls[event.UID]
	if !known {
		e = &entry{}
		d.calls[event.UID] = e
	} else if e.cancel != nil {
		e.cancel(errSuperseded)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e.event, e.cancel = event, cancel
	e.serial++
	e.call.Kind, e.call.InFlight, e.call.Generation = kind, true, event.Generation
	e.call.StartedAt = d.clock.Now()

	serial := e.serial
	d.running.Go(func() {
		outcome := d.do(ctx, kind, event)
		cancel(nil)
		d.finished(ctx, event.UID, serial, outcome)
	})
}

// finished records the outcome of a call, unless a newer call has replaced it.
func (d *Dispatcher) finished(ctx context.Context, uid types.UID, serial int, o outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, known := d.calls[uid]
	if !known || e.serial != serial {
		return
	}
	e.call.InFlight, e.call.EndedAt = false, d.clock.Now()
	if o.answer == nil {
		e.call.Failures++
		e.call.Failure = o.failure
		klog.FromContext(ctx).V(1).Info("The agent calls the driver again", "event", e.event.Name,
			"call", e.call.Kind, "failures", e.call.Failures, "reason", o.failure)
	} else {
		e.call.Failures, e.call.Failure = 0, ""
		e.call.Answer, e.call.AnsweredKind = o.answer, e.call.Kind
	}
	d.wake()
}

// Calls returns the records of all events.
func (d *Dispatcher) Calls() map[types.UID]transition.Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := make(map[types.UID]transition.Call, len(d.calls))
	for uid, e := range d.calls {
		calls[uid] = e.call
	}
	return calls
}

// Keep forgets all events except the given ones. If an event was deleted while its driver may
// be working (another client has removed the finalizer), a last call ends the work.
func (d *Dispatcher) Keep(ctx context.Context, present map[types.UID]bool) {
	for _, event := range d.forget(present) {
		klog.FromContext(ctx).Info("The event was deleted while its driver was working: stopping the driver", "event", event.Name)
		d.running.Go(func() { d.do(ctx, transition.CallLastEnd, event) })
	}
}

// forget returns the events whose drivers must still stop.
func (d *Dispatcher) forget(present map[types.UID]bool) []*lifecyclev1alpha1.LifecycleEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	var untold []*lifecyclev1alpha1.LifecycleEvent
	for uid, e := range maps.Clone(d.calls) {
		if present[uid] {
			continue
		}
		if e.cancel != nil {
			e.cancel(errSuperseded)
		}
		if !driverDone(e) {
			untold = append(untold, e.event)
		}
		delete(d.calls, uid)
	}
	return untold
}

// driverDone returns whether the driver has no work left for the event.
func driverDone(e *entry) bool {
	answer := e.call.Answer
	return e.call.Kind == transition.CallLastEnd ||
		answer != nil && (answer.Error != "" || answer.State == e.event.Status.Driver.End)
}

// Wait returns when no call is in flight. Each call ends with its ctx.
func (d *Dispatcher) Wait() { d.running.Wait() }
