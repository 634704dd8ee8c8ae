// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Maintenances tells what happens to NodeMaintenances, in core Events of theirs and in
// metrics. It may be used by several at a time.
type Maintenances struct {
	recorder   record.EventRecorder
	undertaken *undertaken

	mu   sync.Mutex
	told map[types.UID]map[string]bool
}

// Maintenances returns what tells of NodeMaintenances, in a controller.
func (s *Source) Maintenances() *Maintenances {
	return &Maintenances{
		recorder:   s.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: s.options.Component}),
		undertaken: s.undertaken,
		told:       map[types.UID]map[string]bool{},
	}
}

// Stand takes in the status of each maintenance, by name: all that there are.
func (m *Maintenances) Stand(statuses map[string]slipwayv1alpha1.NodeMaintenanceStatus, now time.Time) {
	m.undertaken.set(statuses, now)
}

// Tell tells something of a maintenance, once.
func (m *Maintenances) Tell(about *slipwayv1alpha1.NodeMaintenance, warning bool, reason, message string) {
	notice := string(about.UID) + " " + reason + " " + message
	if !m.isNew(about.UID, notice) {
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

func (m *Maintenances) isNew(uid types.UID, notice string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told[uid] == nil {
		m.told[uid] = map[string]bool{}
	}
	defer func() { m.told[uid][notice] = true }()
	return !m.told[uid][notice]
}

// Forget is for a maintenance that is gone.
func (m *Maintenances) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.told, uid)
}
