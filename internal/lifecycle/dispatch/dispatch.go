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

// MaxWait is how long a driver may hold its answer to End.
const MaxWait = 30 * time.Second

// errSuperseded ends a call whose place another one takes.
var errSuperseded = errors.New("another call for the event takes its place")

// Clients gives the connection to a driver that is registered.
type Clients interface {
	Client(driver string) (driverv1.SLMPluginClient, error)
}

// Observer is told of each call that has ended.
type Observer interface {
	// Called is told of the gRPC code, and how long it took.
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

// entry is what is remembered of an event.
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
// for the event that is in flight is given up. ctx bounds the call as well.
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

// finished records how a call ended, unless another one has taken its place.
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
		klog.FromContext(ctx).V(1).Info("The driver has to be asked again", "event", e.event.Name,
			"call", e.call.Kind, "failures", e.call.Failures, "reason", o.failure)
	} else {
		e.call.Failures, e.call.Failure = 0, ""
		e.call.Answer, e.call.AnsweredKind = o.answer, e.call.Kind
	}
	d.wake()
}

// Calls is what is remembered of all events.
func (d *Dispatcher) Calls() map[types.UID]transition.Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := make(map[types.UID]transition.Call, len(d.calls))
	for uid, e := range d.calls {
		calls[uid] = e.call
	}
	return calls
}

// Keep forgets all events but those given. An event that is gone although its driver
// may be at work (somebody took off the finalizer) is ended with a last call.
func (d *Dispatcher) Keep(ctx context.Context, present map[types.UID]bool) {
	for _, event := range d.forget(present) {
		klog.FromContext(ctx).Info("The event vanished while its driver was at work: telling the driver", "event", event.Name)
		d.running.Go(func() { d.do(ctx, transition.CallLastEnd, event) })
	}
}

// forget returns the events whose drivers must still be told.
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

// driverDone says whether the driver knows that nothing is left to be done.
func driverDone(e *entry) bool {
	answer := e.call.Answer
	return e.call.Kind == transition.CallLastEnd ||
		answer != nil && (answer.Error != "" || answer.State == e.event.Status.Driver.End)
}

// Wait returns when no call is in flight. The calls end with the contexts that they
// were given.
func (d *Dispatcher) Wait() { d.running.Wait() }
