// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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

const (
	// sideBySide is the number of steps that are performed at a time.
	sideBySide = 16
	// statusesApart is the minimum time between two writes of a maintenance's status.
	statusesApart = time.Second
)

// errStale reports that an object has changed since Next decided on a step, or that a watch shows an old
// version. The change leads to another decision.
var errStale = errors.New("the object has changed since the decision")

// performAll performs steps side by side: a step that fails delays no other step. A Tell follows the step
// before it, if that succeeded. performAll returns the maintenances that the steps change.
func (c *Controller) performAll(ctx context.Context, facts maintenance.Facts, steps []maintenance.Step) (changed map[types.UID]bool) {
	nodes := map[string]*corev1.Node{}
	for _, n := range facts.Nodes {
		nodes[n.Name] = n.Node
	}
	errs := make([]error, len(steps))
	var running errgroup.Group
	running.SetLimit(sideBySide)
	for i, step := range steps {
		switch _, tells := step.(maintenance.Tell); {
		case tells:
		case !c.failed.mayTry(maintenance.Key(step)):
			errs[i] = errNotTried
		default:
			running.Go(func() error {
				errs[i] = c.perform(ctx, nodes, step)
				return nil
			})
		}
	}
	_ = running.Wait() // errs has the error of each step
	changed = map[types.UID]bool{}
	var last error // of the step before a Tell
	for i, step := range steps {
		switch s := step.(type) {
		case maintenance.Tell:
			if last == nil {
				c.Tell.Tell(s.About, s.Warning, s.Reason, s.Message)
			}
			continue
		case maintenance.ChangeMaintenance:
			changed[s.Seen.UID] = true
		}
		last = errs[i]
	}
	c.failed.record(ctx, steps, errs)
	return changed
}

func (c *Controller) perform(ctx context.Context, nodes map[string]*corev1.Node, step maintenance.Step) (err error) {
	switch s := step.(type) {
	case maintenance.CreateEvent:
		err = c.createEvent(ctx, s)
	case maintenance.ChangeEvent:
		err = c.changeEvent(ctx, s)
	case maintenance.DeleteEvent:
		if err = c.Events.Delete(ctx, s.Event); err == nil {
			c.written.events.Deleted(s.Event)
		}
	case maintenance.CreateJob:
		err = c.createJob(ctx, s)
	case maintenance.DeleteJob:
		err = c.Client.Delete(ctx, s.Job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: new(s.Job.UID)})
		if err = failure(err, "delete Job %s/%s", s.Job.Namespace, s.Job.Name); err == nil {
			c.written.jobs.Deleted(s.Job)
		}
	case maintenance.RecordOnNode:
		err = c.recordOnNode(ctx, nodes[s.Node], s)
	case maintenance.MarkNode:
		_, err = c.keepNode(c.Node(s.Node).Mark(ctx, s.Conditions))
	case maintenance.KeepAway:
		err = c.keepAway(ctx, s.Node, s.Which)
	case maintenance.LetBack:
		err = c.keepAway(ctx, s.Node, "")
	case maintenance.Lift:
		err = c.lift(ctx, s.Pod)
	case maintenance.ChangeMaintenance:
		after := s.Changed.DeepCopy()
		err = c.Client.Patch(ctx, after, client.MergeFromWithOptions(s.Seen, client.MergeFromWithOptimisticLock{}))
		if err = failure(err, "change NodeMaintenance %s", s.Seen.Name); err == nil {
			c.written.maintenances.Keep(after)
		}
	default:
		err = fmt.Errorf("%T is an unknown step", step)
	}
	if errors.Is(err, record.ErrStale) || errors.Is(err, nodestate.ErrStale) {
		err = errStale
	}
	return err
}

// failure wraps the error of a write, or returns errStale if the object has changed or was deleted.
func failure(err error, format string, args ...any) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	default:
		return fmt.Errorf(format+": %w", append(args, err)...)
	}
}

func (c *Controller) keepNode(node *corev1.Node, err error) (kept bool, _ error) {
	if err != nil || node == nil {
		return false, err
	}
	c.written.nodes.Keep(node)
	return true, nil
}

func (c *Controller) recordOnNode(ctx context.Context, seen *corev1.Node, s maintenance.RecordOnNode) error {
	if seen == nil {
		return errStale
	}
	var text []byte
	if len(s.Records) > 0 {
		var err error
		if text, err = json.Marshal(s.Records); err != nil {
			return fmt.Errorf("encode records of maintenances: %w", err)
		}
	}
	_, err := c.keepNode(c.Node(s.Node).RecordMaintenances(ctx, seen, string(text)))
	if err == nil {
		faultpoint.Reach(faultpoint.MaintenanceRecorded)
	}
	return err
}

// keepAway records on a Node the pods that it keeps away; empty: it keeps no pod away.
func (c *Controller) keepAway(ctx context.Context, node, which string) error {
	kept, err := c.keepNode(c.Node(node).KeepAway(ctx, which))
	switch {
	case !kept:
	case which == "":
		faultpoint.Reach(faultpoint.MaintenanceLetBack)
	default:
		faultpoint.Reach(faultpoint.MaintenanceKeptAway)
	}
	return err
}

// lift removes Slipway's scheduling gate from a pod, unless another pod has its name now.
func (c *Controller) lift(ctx context.Context, of maintenance.KeptPod) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, of.UID, slipwayv1alpha1.KeptAwayGate)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	err := c.Client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
	return failure(err, "remove the scheduling gate of pod %s/%s", of.Namespace, of.Name)
}

func (c *Controller) createEvent(ctx context.Context, s maintenance.CreateEvent) error {
	created, err := c.Events.Create(ctx, s.Event)
	if apierrors.IsAlreadyExists(err) {
		return c.taken(ctx, "LifecycleEvent", &lifecyclev1alpha1.LifecycleEvent{}, s.Event)
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

func (c *Controller) createJob(ctx context.Context, s maintenance.CreateJob) error {
	job := s.Job.DeepCopy()
	err := c.Client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		return c.taken(ctx, "Job", &batchv1.Job{}, s.Job)
	}
	if err != nil {
		return fmt.Errorf("create Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	c.written.jobs.Keep(job)
	faultpoint.Reach(faultpoint.MaintenanceJobCreated)
	return nil
}

// errTaken reports that another object has the name of an object that a step creates.
var errTaken = errors.New("exists, and belongs to no NodeMaintenance")

// taken returns errStale if the existing object is a maintenance's, which the watch shows late.
func (c *Controller) taken(ctx context.Context, kind string, existing, wanted client.Object) error {
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the existing %s %s: %w", kind, wanted.GetName(), err)
	}
	if err != nil || existing.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel] == wanted.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel] {
		return errStale
	}
	return fmt.Errorf("%s %s %w: delete it", kind, wanted.GetName(), errTaken)
}

func (c *Controller) changeEvent(ctx context.Context, s maintenance.ChangeEvent) error {
	after, err := c.Events.Change(ctx, s.Seen, s.Changed)
	if err != nil {
		return err
	}
	c.written.events.Keep(after)
	reachChanged(s.Seen, s.Changed)
	return nil
}

// reachChanged reaches the fault point of a change of an event.
func reachChanged(seen, changed *lifecyclev1alpha1.LifecycleEvent) {
	before, after := maintenance.ParametersOf(seen), maintenance.ParametersOf(changed)
	switch {
	case slices.Contains(seen.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer) && !slices.Contains(changed.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer):
		faultpoint.Reach(faultpoint.MaintenanceEventReleased)
	case before.Hold && !after.Hold:
		faultpoint.Reach(faultpoint.MaintenanceHoldDropped)
	case before.Hold && !equality.Semantic.DeepEqual(before.Targets, after.Targets):
		faultpoint.Reach(faultpoint.MaintenanceTargetsRaised)
	}
}

// writeStatuses writes the due statuses, except for maintenances that a step has just changed.
// It returns the time at which the next status is due.
func (c *Controller) writeStatuses(
	ctx context.Context, facts maintenance.Facts, statuses map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus, changed map[types.UID]bool,
) (due time.Time) {
	now, existing := c.Clock.Now(), map[types.UID]bool{}
	var errs []error
	for _, m := range facts.Maintenances {
		existing[m.UID] = true
		status, differs := statuses[m.UID]
		next := c.statusAt[m.UID].Add(statusesApart)
		switch {
		case !differs: // it is written, also if the answer was lost
			c.unwritten.forget(string(m.UID))
		case changed[m.UID] || !c.unwritten.mayTry(string(m.UID)):
		case now.Before(next):
			due = earliest(due, next)
		default:
			c.statusAt[m.UID] = now
			after := m.DeepCopy()
			after.Status = status
			err := failure(c.Client.Status().Update(ctx, after), "write the status of NodeMaintenance %s", m.Name)
			if err == nil {
				c.written.maintenances.Keep(after)
			}
			errs = append(errs, c.unwritten.take(string(m.UID), err))
		}
	}
	logFailures(ctx, errs)
	for uid := range c.statusAt {
		if !existing[uid] {
			delete(c.statusAt, uid)
			c.unwritten.forget(string(uid))
			c.Tell.Forget(uid)
		}
	}
	return due
}

// statusesOf returns the status of each maintenance by name: the new one, if it has changed.
func statusesOf(facts maintenance.Facts, decision maintenance.Decision) map[string]slipwayv1alpha1.NodeMaintenanceStatus {
	all := map[string]slipwayv1alpha1.NodeMaintenanceStatus{}
	for _, m := range facts.Maintenances {
		all[m.Name] = m.Status
		if decided, differs := decision.Statuses[m.UID]; differs {
			all[m.Name] = decided
		}
	}
	return all
}
