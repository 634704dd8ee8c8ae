// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Observer tells what happens on one node. Only one goroutine at a time uses it.
type Observer struct {
	recorder record.EventRecorder
	node     corev1.ObjectReference
	apiGroup string
	metrics  *metrics
	// told are the notices of how events stand that were told, while that lasts.
	told map[string]bool
}

// Wrote tells what the writing of a status means. event is as it was before.
func (o *Observer) Wrote(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus, now time.Time) {
	o.metrics.wrote(event, after, now)
	for _, n := range written(event, after) {
		o.tell(event, n)
	}
}

// Look takes in how the events of the node stand, and for which of them it is cordoned.
// It tells what people should know of that, and returns when to look again if nothing
// changes before: never, if that is zero.
func (o *Observer) Look(events []*lifecyclev1alpha1.LifecycleEvent, cordonedFor []types.UID, now time.Time) (next time.Time) {
	o.metrics.stands(o.node.Name, events, now)
	told := map[string]bool{}
	for _, event := range events {
		notices, due := standing(event, cordonedFor, now)
		for _, n := range notices {
			key := noticeOf(event, n)
			if !o.told[key] && !told[key] {
				o.tell(event, n)
			}
			told[key] = true
		}
		if next.IsZero() || !due.IsZero() && due.Before(next) {
			next = due
		}
		o.keepTold(event.UID, told)
	}
	o.told = told
	return next
}

// keepTold keeps what was told of an event that is there still: a blocker that comes and
// goes is told once.
func (o *Observer) keepTold(event types.UID, told map[string]bool) {
	for key := range o.told {
		if len(key) > len(event) && key[:len(event)] == string(event) {
			told[key] = true
		}
	}
}

// tell writes core Events of the node and of the event.
func (o *Observer) tell(event *lifecyclev1alpha1.LifecycleEvent, n notice) {
	annotations := map[string]string{lifecyclev1alpha1.NoticeAnnotation: noticeOf(event, n)}
	of := corev1.ObjectReference{
		Kind: "LifecycleEvent", APIVersion: o.apiGroup + "/" + lifecyclev1alpha1.Version,
		Name: event.Name, UID: event.UID,
	}
	for _, object := range []corev1.ObjectReference{o.node, of} {
		o.recorder.AnnotatedEventf(&object, annotations, n.eventType, n.reason, "%s", n.message)
	}
}

// noticeOf is the same for two notices that tell the same.
func noticeOf(event *lifecyclev1alpha1.LifecycleEvent, n notice) string {
	return string(event.UID) + " " + n.reason + " " + n.key
}
