// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Maintenances reports about NodeMaintenances, in their core Events and in metrics. Several goroutines may use it.
type Maintenances struct {
	recorder record.EventRecorder

	mu       sync.Mutex
	reported reported
	all      map[string]maintenanceStatus
}

// maintenanceStatus is the status of an unfinished maintenance, as this process has seen it change.
type maintenanceStatus struct {
	nodes    slipwayv1alpha1.MaintenanceNodeCounts
	standing string // the reason for no progress, if there is one
	pods     int32  // that must still leave
	moved    time.Time
	stuck    time.Time // zero: the maintenance makes progress, or waits for a known cause
}

func newMaintenances(r *registration, recorder record.EventRecorder) *Maintenances {
	m := &Maintenances{recorder: recorder, reported: reported{}}
	r.computed(m.collect)
	return m
}

// Stand records the status of each maintenance, by name.
func (m *Maintenances) Stand(statuses map[string]slipwayv1alpha1.NodeMaintenanceStatus, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.all
	m.all = map[string]maintenanceStatus{}
	for name, status := range statuses {
		if meta.IsStatusConditionTrue(status.Conditions, slipwayv1alpha1.MaintenanceCompleted) {
			continue
		}
		after := maintenanceStatus{nodes: status.Nodes, moved: now}
		if status.DrainStatus != nil {
			after.pods = status.DrainStatus.PodsPending
		}
		if c := meta.FindStatusCondition(status.Conditions, slipwayv1alpha1.MaintenanceProgressing); c != nil && c.Status == metav1.ConditionFalse {
			after.standing = c.Reason
		}
		was := before[name]
		if was.nodes == after.nodes && was.pods == after.pods && !was.moved.IsZero() {
			after.moved = was.moved
		}
		if isStuck(status, after.standing) {
			after.stuck = cmp.Or(was.stuck, now)
			if after.stuck.Before(after.moved) {
				after.stuck = after.moved
			}
		}
		m.all[name] = after
	}
}

func (m *Maintenances) collect(expose emit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.all {
		for state, count := range map[string]int32{
			"waiting": s.nodes.Waiting, "out": s.nodes.Out, "returned": s.nodes.Returned, "failed": s.nodes.Failed,
		} {
			expose("slipway_maintenance_nodes", float64(count), name, state)
		}
		expose("slipway_maintenance_progress_timestamp_seconds", unix(s.moved), name)
		if !s.stuck.IsZero() {
			expose("slipway_maintenance_stuck_timestamp_seconds", unix(s.stuck), name)
		}
		if s.standing != "" {
			expose("slipway_maintenance_standing", 1, name, s.standing)
		}
	}
}

// isStuck reports whether a maintenance makes no progress without a known cause: nodes wait or are out of service, and
// no administrator must act first. An alert or an administrator knows of each standing reason except MaxUnavailable,
// which ends when nodes return.
func isStuck(s slipwayv1alpha1.NodeMaintenanceStatus, standing string) bool {
	switch {
	case standing != "" && standing != slipwayv1alpha1.ReasonMaxUnavailable:
		return false
	case s.Nodes.Out == 0:
		return s.Nodes.Waiting > 0
	case len(s.StageStatuses) > 0 && s.StageStatuses[len(s.StageStatuses)-1].Name == slipwayv1alpha1.StageCordon:
		return false // an administrator begins the next stage
	default:
		return slices.ContainsFunc(s.NodeStatuses, mustProgress)
	}
}

// mustProgress reports whether a node is out of service and waits neither for an administrator nor for another
// maintenance. A drain that pods block has an alert, which measures the time.
func mustProgress(n slipwayv1alpha1.MaintenanceNodeStatus) bool {
	waits := slices.Contains([]string{
		slipwayv1alpha1.ReasonHookWaiting, slipwayv1alpha1.ReasonWaitingForWork, slipwayv1alpha1.ReasonPaused, slipwayv1alpha1.ReasonWaitingForOthers,
	}, n.Reason)
	switch n.Phase {
	case slipwayv1alpha1.NodeWaiting, slipwayv1alpha1.NodeReturned, slipwayv1alpha1.NodeFailed:
		return false
	case slipwayv1alpha1.NodeDrained:
		return n.Reason != "" && !waits // without a rollout, an administrator begins the next stage
	default:
		return !waits && n.Reason != slipwayv1alpha1.ReasonBlocked
	}
}

// Tell writes a core Event about a maintenance, once.
func (m *Maintenances) Tell(about *slipwayv1alpha1.NodeMaintenance, warning bool, reason, message string) {
	notice := string(about.UID) + " " + reason + " " + message
	m.mu.Lock()
	isNew := m.reported.add(about.UID, notice)
	m.mu.Unlock()
	if !isNew {
		return
	}
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	m.recorder.AnnotatedEventf(&corev1.ObjectReference{
		Kind: "NodeMaintenance", APIVersion: slipwayv1alpha1.GroupVersion.String(), Name: about.Name, UID: about.UID,
	}, map[string]string{lifecyclev1alpha1.NoticeAnnotation: notice}, kind, reason, "%s", message)
}

// Forget is for a deleted maintenance.
func (m *Maintenances) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reported, uid)
}
