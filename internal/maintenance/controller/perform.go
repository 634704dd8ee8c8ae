// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// sideBySide is how many steps are done at a time.
const sideBySide = 16

// errStale means that what the step was decided on has changed, or is shown by the watch
// too late. The change gives another step.
var errStale = errors.New("it has changed since")

// performAll does steps side by side: one that fails holds up none of the others. What is
// told of a step is told after it, if it was done. It returns which maintenances have
// changed.
func (m *Maintainer) performAll(ctx context.Context, facts maintenance.Facts, steps []maintenance.Step) (changed map[types.UID]bool) {
	nodes := map[string]*corev1.Node{}
	for _, n := range facts.Nodes {
		nodes[n.Name] = n.Node
	}
	errs := make([]error, len(steps))
	limit := make(chan struct{}, sideBySide)
	var running sync.WaitGroup
	for i, step := range steps {
		if _, tells := step.(maintenance.Tell); tells {
			continue
		}
		if !m.failed.mayTry(step) {
			errs[i] = errNotTried
			continue
		}
		limit <- struct{}{}
		running.Go(func() {
			errs[i] = m.perform(ctx, nodes, step)
			<-limit
		})
	}
	running.Wait()
	changed = map[types.UID]bool{}
	var told error // the step that is told of
	for i, step := range steps {
		switch s := step.(type) {
		case maintenance.Tell:
			if told == nil {
				m.Tell.Tell(s.About, s.Warning, s.Reason, s.Message)
			}
			continue
		case maintenance.ChangeMaintenance:
			changed[s.Seen.UID] = true
		}
		told = errs[i]
	}
	m.failed.note(ctx, steps, errs)
	return changed
}

// perform does a step.
func (m *Maintainer) perform(ctx context.Context, nodes map[string]*corev1.Node, step maintenance.Step) error {
	var err error
	switch s := step.(type) {
	case maintenance.CreateEvent:
		err = m.createEvent(ctx, s)
	case maintenance.ChangeEvent:
		err = m.changeEvent(ctx, s)
	case maintenance.DeleteEvent:
		err = m.Events.Delete(ctx, s.Event)
		if err == nil {
			m.events.deleted(s.Event)
		}
	case maintenance.CreateJob:
		err = m.createJob(ctx, s)
	case maintenance.DeleteJob:
		err = m.deleteJob(ctx, s)
	case maintenance.RecordOnNode:
		err = m.recordOnNode(ctx, nodes[s.Node], s)
	case maintenance.MarkNode:
		err = m.markNode(ctx, s)
	case maintenance.KeepAway:
		err = m.keepAway(ctx, s.Node, s.Which)
	case maintenance.LetBack:
		err = m.keepAway(ctx, s.Node, "")
	case maintenance.Lift:
		err = m.lift(ctx, s.Pod)
	case maintenance.ChangeMaintenance:
		err = m.changeMaintenance(ctx, s)
	default:
		err = fmt.Errorf("%T is no step that can be done", step)
	}
	if errors.Is(err, record.ErrStale) || errors.Is(err, nodestate.ErrStale) {
		err = errStale
	}
	return err
}

// recordOnNode replaces what a Node says of maintenances.
func (m *Maintainer) recordOnNode(ctx context.Context, seen *corev1.Node, s maintenance.RecordOnNode) error {
	if seen == nil {
		return errStale
	}
	text, err := textOf(s.Records)
	if err != nil {
		return err
	}
	node, err := m.Node(s.Node).RecordMaintenances(ctx, seen, text)
	if err != nil {
		return err
	}
	m.nodes.keep(node)
	faultpoint.Reach(faultpoint.MaintenanceRecorded)
	return nil
}

// markNode sets conditions of a Node.
func (m *Maintainer) markNode(ctx context.Context, s maintenance.MarkNode) error {
	node, err := m.Node(s.Node).Mark(ctx, s.Conditions)
	if err == nil && node != nil {
		m.nodes.keep(node)
	}
	return err
}
