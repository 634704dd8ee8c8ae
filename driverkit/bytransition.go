// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ByTransition returns one Driver for several, by the name of the transition. A call for
// any other transition fails.
//
// When an event begins, work of [Background] for an older event of the same node ends
// first, also for another transition.
func ByTransition(drivers map[string]Driver) Driver {
	return byTransition(maps.Clone(drivers))
}

type byTransition map[string]Driver

func (b byTransition) Start(ctx context.Context, call Call) (Answer, error) {
	driver, err := b.begin(ctx, call)
	if err != nil {
		return Answer{}, err
	}
	return driver.Start(ctx, call)
}

func (b byTransition) End(ctx context.Context, call Call) (Answer, error) {
	driver, err := b.begin(ctx, call)
	if err != nil {
		return Answer{}, err
	}
	return driver.End(ctx, call)
}

func (b byTransition) Stop(ctx context.Context, call Call) (Answer, error) {
	driver, err := b.driver(call)
	if err != nil {
		return Answer{}, err
	}
	return driver.Stop(ctx, call)
}

// Close closes all drivers at the same time.
func (b byTransition) Close(ctx context.Context) error {
	var group errgroup.Group
	for _, driver := range b {
		if closer, ok := driver.(Closer); ok {
			group.Go(func() error { return closer.Close(ctx) })
		}
	}
	return group.Wait()
}

func (b byTransition) driver(call Call) (Driver, error) {
	driver, ok := b[call.Transition]
	if !ok {
		return nil, fmt.Errorf("this driver has no transition %q; it has %s",
			call.Transition, strings.Join(slices.Sorted(maps.Keys(b)), ", "))
	}
	return driver, nil
}

// begin returns the driver of the call, after all drivers have ended the work for older
// events.
func (b byTransition) begin(ctx context.Context, call Call) (Driver, error) {
	own, err := b.driver(call)
	if err != nil {
		return nil, err
	}
	for _, driver := range b {
		if r, ok := driver.(replacer); ok {
			if err := r.replace(ctx, call); err != nil {
				return nil, err
			}
		}
	}
	return own, nil
}

// replacer is a driver with work in the background.
type replacer interface {
	// replace ends the work for other events of the call's node.
	replace(ctx context.Context, call Call) error
}
