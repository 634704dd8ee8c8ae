// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Who the core Events are from.
const (
	NodeAgent  = "slipway-node-agent"
	Controller = "slipway-controller"
)

// Options are what a Source is made of. All are required.
type Options struct {
	// Component is [NodeAgent] or [Controller].
	Component string
	// APIGroup is that of LifecycleEvents.
	APIGroup string
	// Events writes core Events.
	Events corev1client.EventsGetter
	// Metrics is where the metrics are registered.
	Metrics prometheus.Registerer
}

// Source is what the observers of one process share.
type Source struct {
	options     Options
	broadcaster record.EventBroadcaster
	metrics     *metrics
	overseen    *overseen   // the controller's
	undertaken  *undertaken // the same
	shutdowns   *prometheus.CounterVec
}

// New returns the source of a process.
func New(ctx context.Context, options Options) (*Source, error) {
	b := &book{}
	m := newMetrics(b, b)
	var o *overseen
	var u *undertaken
	var d *prometheus.CounterVec
	if options.Component == Controller {
		o, u, d = newOverseen(b), newUndertaken(b), newShutdowns(b)
	}
	if err := b.register(options.Metrics); err != nil {
		return nil, err
	}
	m.home.WithLabelValues(options.APIGroup).Set(1)
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(sink{&corev1client.EventSinkImpl{Interface: options.Events.Events(corev1.NamespaceAll)}})
	return &Source{options: options, broadcaster: broadcaster, metrics: m, overseen: o, undertaken: u, shutdowns: d}, nil
}

// Node returns the observer of a node. It costs nothing to have.
func (s *Source) Node(name string) *Observer {
	return &Observer{
		recorder: s.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: s.options.Component, Host: name}),
		// As the kubelet does it: kubectl describe node finds Events by the node's name as UID.
		node:     corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: types.UID(name)},
		apiGroup: s.options.APIGroup,
		metrics:  s.metrics,
		told:     map[string]bool{},
	}
}

// Close ends all observers. Events that were not written yet are lost.
func (s *Source) Close() { s.broadcaster.Shutdown() }
