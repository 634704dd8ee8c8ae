// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
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
func (c *Controller) performAll(ctx context.Context, facts maintenance.Facts, steps []maintenance.Step) (changed map[types.UID]bool) {
	nodes := map[string]*corev1.Node{}
	for _, n := range facts.Nodes {
		nodes[n.Name] = n.Node
	}
	errs := make([]error, len(steps))
	var running errgroup.Group
	running.SetLimit(sideBySide)
	for i, step := range steps {
		if _, tells := step.(maintenance.Tell); tells {
			continue
		}
		if !c.failed.mayTry(step) {
			errs[i] = errNotTried
			continue
		}
		running.Go(func() error {
			errs[i] = c.perform(ctx, nodes, step)
			return nil
		})
	}
	_ = running.Wait() // each step has an error of its own
	changed = map[types.UID]bool{}
	var told error // the step that is told of
	for i, step := range steps {
		switch s := step.(type) {
		case maintenance.Tell:
			if told == nil {
				c.Tell.Tell(s.About, s.Warning, s.Reason, s.Message)
			}
			continue
		case maintenance.ChangeMaintenance:
			changed[s.Seen.UID] = true
		}
		told = errs[i]
	}
	c.failed.note(ctx, steps, errs)
	return changed
}

// perform does a step.
func (c *Controller) perform(ctx context.Context, nodes map[string]*corev1.Node, step maintenance.Step) error {
	var err error
	switch s := step.(type) {
	case maintenance.CreateEvent:
		err = c.createEvent(ctx, s)
	case maintenance.ChangeEvent:
		err = c.changeEvent(ctx, s)
	case maintenance.DeleteEvent:
		err = c.Events.Delete(ctx, s.Event)
		if err == nil {
			c.written.events.Deleted(s.Event)
		}
	case maintenance.CreateJob:
		err = c.createJob(ctx, s)
	case maintenance.DeleteJob:
		err = c.deleteJob(ctx, s)
	case maintenance.RecordOnNode:
		err = c.recordOnNode(ctx, nodes[s.Node], s)
	case maintenance.MarkNode:
		err = c.markNode(ctx, s)
	case maintenance.KeepAway:
		err = c.keepAway(ctx, s.Node, s.Which)
	case maintenance.LetBack:
		err = c.keepAway(ctx, s.Node, "")
	case maintenance.Lift:
		err = c.lift(ctx, s.Pod)
	case maintenance.ChangeMaintenance:
		err = c.changeMaintenance(ctx, s)
	default:
		err = fmt.Errorf("%T is no step that can be done", step)
	}
	if errors.Is(err, record.ErrStale) || errors.Is(err, nodestate.ErrStale) {
		err = errStale
	}
	return err
}

// recordOnNode replaces what a Node says of maintenances.
func (c *Controller) recordOnNode(ctx context.Context, seen *corev1.Node, s maintenance.RecordOnNode) error {
	if seen == nil {
		return errStale
	}
	text := ""
	if len(s.Records) > 0 {
		encoded, err := json.Marshal(s.Records)
		if err != nil {
			return fmt.Errorf("encode records of maintenances: %w", err)
		}
		text = string(encoded)
	}
	node, err := c.Node(s.Node).RecordMaintenances(ctx, seen, text)
	if err != nil {
		return err
	}
	c.written.nodes.Keep(node)
	faultpoint.Reach(faultpoint.MaintenanceRecorded)
	return nil
}

// markNode sets conditions of a Node.
func (c *Controller) markNode(ctx context.Context, s maintenance.MarkNode) error {
	node, err := c.Node(s.Node).Mark(ctx, s.Conditions)
	if err == nil && node != nil {
		c.written.nodes.Keep(node)
	}
	return err
}

// createEvent creates an event. One of that name which is there already is either ours,
// and the watch is late, or in the way.
func (c *Controller) createEvent(ctx context.Context, s maintenance.CreateEvent) error {
	created, err := c.Events.Create(ctx, s.Event)
	if apierrors.IsAlreadyExists(err) {
		return c.taken(ctx, &lifecyclev1alpha1.LifecycleEvent{}, s.Event)
	}
	if err != nil {
		return err
	}
	c.written.events.Keep(created)
	if created.Labels[slipwayv1alpha1.MaintenanceEventLabel] == maintenance.LabelReturn {
		faultpoint.Reach(faultpoint.MaintenanceReturnCreated)
	} else {
		faultpoint.Reach(faultpoint.MaintenanceEventCreated)
	}
	return nil
}

// taken says what to do about an object of the name of one that is to be created.
func (c *Controller) taken(ctx context.Context, there, wanted client.Object) error {
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(wanted), there)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s %s, which is there: %w", kindOf(wanted), wanted.GetName(), err)
	}
	if err != nil || there.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel] == wanted.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel] {
		return errStale
	}
	return fmt.Errorf("%s %s %w: delete it", kindOf(wanted), wanted.GetName(), errInTheWay)
}

// errInTheWay means that there is an object of somebody else's of that name.
var errInTheWay = errors.New("is in the way: it is none of a maintenance")

func isInTheWay(err error) bool { return errors.Is(err, errInTheWay) }

func kindOf(o client.Object) string {
	if _, event := o.(*lifecyclev1alpha1.LifecycleEvent); event {
		return "LifecycleEvent"
	}
	return "Job"
}

// changeEvent writes parameters, gates, finalizers and annotations of an event.
func (c *Controller) changeEvent(ctx context.Context, s maintenance.ChangeEvent) error {
	after, err := c.Events.Change(ctx, s.Seen, s.Changed)
	if err != nil {
		return err
	}
	c.written.events.Keep(after)
	reachChanged(s.Seen, s.Changed)
	return nil
}

// reachChanged names what a change of an event was.
func reachChanged(seen, changed *lifecyclev1alpha1.LifecycleEvent) {
	before, after := drainOf(seen), drainOf(changed)
	protects := func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.Contains(e.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer)
	}
	switch {
	case protects(seen) && !protects(changed):
		faultpoint.Reach(faultpoint.MaintenanceEventReleased)
	case before.Hold && !after.Hold:
		faultpoint.Reach(faultpoint.MaintenanceHoldDropped)
	case before.Hold && string(before.Targets) != string(after.Targets):
		faultpoint.Reach(faultpoint.MaintenanceTargetsRaised)
	}
}

// drainParameters are what of the parameters of a drain tells its changes apart.
type drainParameters struct {
	Hold    bool            `json:"hold"`
	Targets json.RawMessage `json:"targets"`
}

func drainOf(e *lifecyclev1alpha1.LifecycleEvent) (parameters drainParameters) {
	if e.Spec.Parameters == nil || json.Unmarshal(e.Spec.Parameters.Raw, &parameters) != nil {
		return drainParameters{} // it is the driver that says what is wrong with them
	}
	return parameters
}

// createJob creates the Job of a node. What the API server has against it is told in the
// status of the maintenance, and it is tried again.
func (c *Controller) createJob(ctx context.Context, s maintenance.CreateJob) error {
	job := s.Job.DeepCopy()
	err := c.Client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		return c.taken(ctx, &batchv1.Job{}, s.Job)
	}
	if err != nil {
		return fmt.Errorf("create Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	c.written.jobs.Keep(job)
	faultpoint.Reach(faultpoint.MaintenanceJobCreated)
	return nil
}

// deleteJob deletes it, with its pods.
func (c *Controller) deleteJob(ctx context.Context, s maintenance.DeleteJob) error {
	err := c.Client.Delete(ctx, s.Job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: new(s.Job.UID)})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("delete Job %s/%s: %w", s.Job.Namespace, s.Job.Name, err)
	}
	c.written.jobs.Deleted(s.Job)
	return nil
}

// changeMaintenance writes the stage and the finalizers of a maintenance.
func (c *Controller) changeMaintenance(ctx context.Context, s maintenance.ChangeMaintenance) error {
	after := s.Changed.DeepCopy()
	err := c.Client.Patch(ctx, after, client.MergeFromWithOptions(s.Seen, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("change NodeMaintenance %s: %w", s.Seen.Name, err)
	}
	c.written.maintenances.Keep(after)
	return nil
}
