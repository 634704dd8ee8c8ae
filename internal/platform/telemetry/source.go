// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Options of a [Source]. All are required.
type Options struct {
	// Component is [NodeAgent] or [Controller].
	Component string
	// APIGroup is the group of LifecycleEvents.
	APIGroup string
	// Events writes core Events.
	Events corev1client.EventsGetter
	// Metrics is the registry of the metrics.
	Metrics prometheus.Registerer
}

// Source is the part that the observers of one process share.
type Source struct {
	options     Options
	broadcaster record.EventBroadcaster
	events      *eventMetrics
	nodes       *nodeMetrics
	drains      *Drains
	calls       *Calls

	// Only in the controller.
	fleet        *fleetMetrics
	maintenances *Maintenances
	leading      prometheus.Gauge
	shutdowns    *prometheus.CounterVec
	left         *prometheus.CounterVec
}

// New returns the source of a process.
func New(ctx context.Context, options Options) (*Source, error) {
	r := &registration{to: options.Metrics}
	s := &Source{
		options: options, broadcaster: record.NewBroadcaster(record.WithContext(ctx)),
		events: newEventMetrics(r), nodes: newNodeMetrics(r), drains: newDrains(r), calls: newCalls(r),
	}
	r.gauges("slipway_api_home_info").WithLabelValues(options.APIGroup).Set(1)
	if options.Component == Controller {
		s.fleet, s.maintenances = newFleetMetrics(r), newMaintenances(r, s.recorder(""))
		s.leading = r.gauges("slipway_controller_leading").WithLabelValues()
		s.shutdowns = r.counters("slipway_shutdowns_total")
		s.left = r.counters("slipway_evictions_left_to_kubernetes_total")
	}
	if err := r.err(); err != nil {
		s.Close()
		return nil, err
	}
	s.broadcaster.StartRecordingToSink(sink{&corev1client.EventSinkImpl{Interface: options.Events.Events(corev1.NamespaceAll)}})
	return s, nil
}

func (s *Source) recorder(node string) record.EventRecorder {
	return s.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: s.options.Component, Host: node})
}

// Node returns the observer of a node.
func (s *Source) Node(name string) *Observer {
	return &Observer{
		source:   s,
		recorder: s.recorder(name),
		// kubectl describe node finds Events by the node's name as UID, as the kubelet writes them.
		node:     corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: types.UID(name)},
		reported: reported{},
	}
}

// Drains counts the evictions of this process.
func (s *Source) Drains() *Drains { return s.drains }

// Calls counts the calls to drivers of this process.
func (s *Source) Calls() *Calls { return s.calls }

// Maintenances reports about NodeMaintenances, in a controller.
func (s *Source) Maintenances() *Maintenances { return s.maintenances }

// Leads records that this controller leads from now on.
func (s *Source) Leads() { s.leading.Set(1) }

// Oversees records all events of a node, and its holds, in a controller.
func (s *Source) Oversees(node string, events []*lifecyclev1alpha1.LifecycleEvent, holds []*slipwayv1alpha1.NodeHold) {
	s.fleet.set(node, events, holds)
}

// ShutdownEnded counts a shutdown whose machine has booted again.
func (s *Source) ShutdownEnded(reason string) { s.shutdowns.WithLabelValues(reason).Inc() }

// LeftToKubernetes counts a decision that leaves an Eviction to Kubernetes' own controller.
func (s *Source) LeftToKubernetes() { s.left.WithLabelValues().Inc() }

// Close ends all observers. It drops unwritten core Events.
func (s *Source) Close() { s.broadcaster.Shutdown() }

// Observer reports about one node. Only one goroutine at a time may use it.
type Observer struct {
	source   *Source
	recorder record.EventRecorder
	node     corev1.ObjectReference
	reported reported
}

// Wrote reports the change that a new status means. event is the version before the change.
func (o *Observer) Wrote(event *lifecyclev1alpha1.LifecycleEvent, after lifecyclev1alpha1.LifecycleEventStatus, now time.Time) {
	o.source.events.wrote(event, after, now)
	for _, n := range written(event, after) {
		o.tell(event, n)
	}
}

// Look records the events of the node, and the events for which it is cordoned. It returns the time of the next look
// at unchanged events; zero for never.
func (o *Observer) Look(events []*lifecyclev1alpha1.LifecycleEvent, cordonedFor []types.UID, now time.Time) (next time.Time) {
	o.source.nodes.set(o.node.Name, events, now)
	for _, event := range events {
		notices, due := standing(event, cordonedFor, now)
		for _, n := range notices {
			if o.reported.add(event.UID, noticeOf(event, n)) {
				o.tell(event, n)
			}
		}
		if next.IsZero() || !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	maps.DeleteFunc(o.reported, func(uid types.UID, _ map[string]bool) bool {
		return !slices.ContainsFunc(events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.UID == uid })
	})
	return next
}

// HoldReleased reports to the actor of a hold that another actor has released it.
func (o *Observer) HoldReleased(h *slipwayv1alpha1.NodeHold, message string) {
	o.tell(&lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: h.Spec.EventName, UID: h.Spec.EventUID}},
		notice{corev1.EventTypeNormal, ReasonHoldReleased, message, ""})
}

// tell writes core Events about the node and the event.
func (o *Observer) tell(event *lifecyclev1alpha1.LifecycleEvent, n notice) {
	annotations := map[string]string{lifecyclev1alpha1.NoticeAnnotation: noticeOf(event, n)}
	of := corev1.ObjectReference{
		Kind: "LifecycleEvent", APIVersion: o.source.options.APIGroup + "/" + lifecyclev1alpha1.Version, Name: event.Name, UID: event.UID,
	}
	for _, object := range []corev1.ObjectReference{o.node, of} {
		o.recorder.AnnotatedEventf(&object, annotations, n.eventType, n.reason, "%s", n.message)
	}
}

// noticeOf identifies a notice.
func noticeOf(event *lifecyclev1alpha1.LifecycleEvent, n notice) string {
	return string(event.UID) + " " + n.reason + " " + n.key
}

// reported has the notices of each object: a blocker that disappears and returns is reported once.
type reported map[types.UID]map[string]bool

// add records a notice, and returns whether it is new.
func (r reported) add(of types.UID, notice string) bool {
	if r[of] == nil {
		r[of] = map[string]bool{}
	}
	isNew := !r[of][notice]
	r[of][notice] = true
	return isNew
}

// maxBaseName leaves space for the hash in the name of a core Event.
const maxBaseName = 200

// sink names a core Event by its notice. The server refuses to create it twice, by this process or by a former one.
type sink struct{ record.EventSink }

// Create creates a core Event.
func (s sink) Create(event *corev1.Event) (*corev1.Event, error) {
	if notice, has := event.Annotations[lifecyclev1alpha1.NoticeAnnotation]; has {
		object := event.InvolvedObject.Name
		sum := sha256.Sum256([]byte(event.InvolvedObject.Kind + "\x00" + notice))
		event.Name = object[:min(len(object), maxBaseName)] + "." + hex.EncodeToString(sum[:8])
	}
	return s.EventSink.Create(event)
}
