// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// Teller tells people and monitoring what happens to maintenances.
type Teller interface {
	Tell(about *slipwayv1alpha1.NodeMaintenance, warning bool, reason, message string)
	// Stand is called in each pass, with the status of each maintenance by name.
	Stand(statuses map[string]slipwayv1alpha1.NodeMaintenanceStatus, now time.Time)
	Forget(maintenance types.UID)
}

// Options of a [Maintainer]. All are required, but for Leases.
type Options struct {
	// Self are the credentials, for the watches of pods.
	Self *rest.Config
	// Cache has NodeMaintenances, Nodes, LifecycleEvents, and of Namespace the Jobs of
	// maintenances and the PodTemplates; with Leases, those of nodes. It runs while the
	// Maintainer does.
	Cache cache.Cache
	// Leases: the process takes the leases of the nodes that Slipway works on.
	Leases bool
	// Client writes NodeMaintenances and Jobs.
	Client client.Client
	// Live reads LifecycleEvents and Jobs from the API server.
	Live client.Reader
	// Events writes LifecycleEvents.
	Events *record.Recorder
	// Node returns the writer of a Node.
	Node func(name string) *nodestate.Writer
	// Tell tells people and monitoring.
	Tell Teller
	// Namespace is Slipway's own.
	Namespace string
	Clock     clock.WithTicker
}

// Maintainer carries out maintenances. It is run once.
type Maintainer struct {
	Options
	reader  client.Reader // of the cache
	next    func(maintenance.Facts, time.Time) maintenance.Decision
	changed chan struct{} // has something in it after each change

	health   *health
	pending  *pending
	keptAway *keptAway
	budgets  *budgets
	starving *starving
	failed   *failed

	// What has been written, and the watches have not shown yet.
	events       *memory[*lifecyclev1alpha1.LifecycleEvent]
	jobs         *memory[*batchv1.Job]
	nodes        *memory[*corev1.Node]
	maintenances *memory[*slipwayv1alpha1.NodeMaintenance]
	written      map[types.UID]time.Time // when the status of a maintenance was written last
	unreadable   map[types.UID]string    // the records of Nodes that cannot be read, which was said
}

// ofMaintenances is the index of the LifecycleEvents that are of maintenances.
const ofMaintenances = "maintenances"

// New returns a Maintainer. It makes no request.
func New(ctx context.Context, o Options) (*Maintainer, error) {
	index := func(o client.Object) []string {
		if maintenance.Labelled(o) {
			return []string{"true"}
		}
		return nil
	}
	if err := o.Cache.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, ofMaintenances, index); err != nil {
		return nil, fmt.Errorf("index the events of maintenances: %w", err)
	}
	clients, err := kubernetes.NewForConfig(o.Self)
	if err != nil {
		return nil, fmt.Errorf("build a client for pods and disruption budgets: %w", err)
	}
	m, pods := with(o), clients.CoreV1().Pods(corev1.NamespaceAll)
	m.health, m.keptAway, m.pending = newHealth(pods, m.wake), newKeptAway(pods, m.wake), newPending(pods, m.wake)
	m.budgets, m.starving = newBudgets(clients, m.wake), newStarving(clients, m.wake)
	return m, nil
}

// with is a Maintainer that watches no pods.
func with(o Options) *Maintainer {
	return &Maintainer{
		Options: o, reader: o.Cache, next: maintenance.Next, changed: make(chan struct{}, 1), failed: newFailed(o.Clock),
		events: newMemory[*lifecyclev1alpha1.LifecycleEvent](o.Clock), jobs: newMemory[*batchv1.Job](o.Clock),
		nodes: newMemory[*corev1.Node](o.Clock), maintenances: newMemory[*slipwayv1alpha1.NodeMaintenance](o.Clock),
		written: map[types.UID]time.Time{}, unreadable: map[types.UID]string{},
	}
}

// Run works until ctx ends. It leaves nothing running.
func (m *Maintainer) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer m.starving.close()
	defer m.budgets.close()
	defer m.pending.close()
	defer m.keptAway.close()
	defer m.health.close()
	defer stop()
	known, unlisten, err := m.listen(ctx)
	defer unlisten()
	if err != nil {
		return err
	}
	if m.awaitKnown(ctx, known) {
		m.loop(ctx)
	}
	return nil
}

// wake asks for a pass.
func (m *Maintainer) wake() {
	select {
	case m.changed <- struct{}{}:
	default: // it is awake
	}
}
