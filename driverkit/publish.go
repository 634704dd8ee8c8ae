// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// fieldManager marks the transitions that the kit has published.
const fieldManager = "slipway-driverkit"

// publisher creates absent transitions, and updates those that it has published before with
// other fields. It does not watch them: it publishes a deleted transition again after each
// registration of the driver, because agents delete transitions of missing drivers.
type publisher struct {
	driverName  string
	transitions []lifecyclev1alpha1.LifecycleTransition
	missing     []lifecyclev1alpha1.LifecycleTransition
	connect     func(context.Context) (client.Client, error)
	registered  chan struct{} // an agent has registered the driver
}

func newPublisher(config Config) *publisher {
	p := &publisher{driverName: config.DriverName, registered: make(chan struct{}, 1)}
	if config.RESTConfig == nil {
		return p
	}
	p.connect = func(ctx context.Context) (client.Client, error) { return connect(ctx, config.RESTConfig) }
	for _, transition := range config.Transitions {
		transition := *transition.DeepCopy()
		transition.Spec.Driver = config.DriverName
		p.transitions = append(p.transitions, transition)
	}
	return p
}

func connect(ctx context.Context, config *rest.Config) (client.Client, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build HTTP client: %w", err)
	}
	found, err := apigroup.Find(ctx, config, httpClient)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{HTTPClient: httpClient, Scheme: found.Scheme(), Mapper: found.Mapper()})
}

// run publishes at the start and after each registration, until ctx ends.
func (p *publisher) run(ctx context.Context) error {
	for {
		if err := p.publishAll(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.registered:
		}
	}
}

// again makes run publish again.
func (p *publisher) again() {
	select {
	case p.registered <- struct{}{}:
	default: // run has not begun with the last one
	}
}

// publishAll retries until all transitions exist, and fails only for errors that a retry cannot
// fix.
func (p *publisher) publishAll(ctx context.Context) error {
	p.missing = slices.Clone(p.transitions)
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 7, Cap: time.Minute}
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (done bool, err error) {
		err = p.publish(ctx)
		if err == nil || errors.Is(err, ErrForeignTransition) || apierrors.IsInvalid(err) {
			return true, err
		}
		klog.FromContext(ctx).Info("Transitions are not published yet; trying again", "driver", p.driverName, "reason", err.Error())
		return false, nil
	})
	if wait.Interrupted(err) {
		return nil // the driver ends: an unfinished publication is no failure
	}
	return err
}

// publish makes one attempt. It connects each time, because the API home may have been
// installed or moved since the last attempt.
func (p *publisher) publish(ctx context.Context) error {
	if len(p.missing) == 0 {
		return nil
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	for len(p.missing) > 0 {
		if err := p.ensure(ctx, c, &p.missing[0]); err != nil {
			return fmt.Errorf("publish transition %s: %w", p.missing[0].Name, err)
		}
		p.missing = p.missing[1:]
	}
	return nil
}

// ensure creates the transition, unless it exists: all nodes publish the same transitions,
// and one node is first. It updates a transition that only drivers have written: an
// administrator that changes a field owns the transition from then on.
func (p *publisher) ensure(ctx context.Context, c client.Client, want *lifecyclev1alpha1.LifecycleTransition) error {
	var have lifecyclev1alpha1.LifecycleTransition
	err := c.Get(ctx, client.ObjectKeyFromObject(want), &have)
	if apierrors.IsNotFound(err) {
		if err = c.Create(ctx, want.DeepCopy(), client.FieldOwner(fieldManager)); err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = c.Get(ctx, client.ObjectKeyFromObject(want), &have)
	}
	switch {
	case err != nil:
		return err
	case have.Spec.Driver != p.driverName:
		return fmt.Errorf("%w: it exists with spec.driver %q, this driver is %q",
			ErrForeignTransition, have.Spec.Driver, p.driverName)
	case equality.Semantic.DeepEqual(have.Spec, want.Spec):
		return nil
	}
	reason := "not published by this driver, or changed since"
	if published(&have) {
		changed := have.DeepCopy()
		changed.Spec = *want.Spec.DeepCopy()
		err := c.Update(ctx, changed, client.FieldOwner(fieldManager))
		if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			return err
		}
		reason = err.Error()
	}
	klog.FromContext(ctx).Info("The transition exists with other fields than this driver defines; it stays unchanged",
		"transition", want.Name, "reason", reason, "have", have.Spec, "own", want.Spec)
	return nil
}

// published reports whether only the kit has written the spec.
func published(transition *lifecyclev1alpha1.LifecycleTransition) bool {
	found := false
	for _, entry := range transition.ManagedFields {
		var fields map[string]json.RawMessage
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil || fields["f:spec"] == nil {
			continue
		}
		if entry.Manager != fieldManager {
			return false
		}
		found = true
	}
	return found
}
