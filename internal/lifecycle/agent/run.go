// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/dispatch"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/health"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/internal/platform/quota"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// Options are the settings of an agent process.
type Options struct {
	// NodeName is the name of the agent's node. Required.
	NodeName string
	// RegistrationDirs are the directories in which drivers register.
	RegistrationDirs []string
	// FinishedEventTTL is the time for which the agent keeps ended events.
	FinishedEventTTL time.Duration
	// HealthAddress serves /healthz and /readyz; MetricsAddress serves /metrics. "0" disables
	// one.
	HealthAddress, MetricsAddress string
	// ActAs is the identity with which it acts on the Node. Empty: the node.
	ActAs identity.ActAs
	// Builtin are drivers that run in this process.
	Builtin []Builtin
	// Metrics registers the metrics. Nil: the registry of the process, which has room for one
	// agent.
	Metrics prometheus.Registerer
}

// Builtin is a driver that runs in the agent's process.
type Builtin struct {
	Name string
	// Serve runs it until ctx ends, at the listener; asNode are the credentials with which it acts on the Node and its
	// pods.
	Serve func(ctx context.Context, at net.Listener, asNode *rest.Config, drains *telemetry.Drains) error
}

// Run runs the agent of a node until ctx ends.
func Run(ctx context.Context, self *rest.Config, options Options) error {
	if options.Metrics == nil {
		options.Metrics = metrics.Registry
	}
	well := health.New(clock.RealClock{})
	self = well.Seen(self)
	httpClient, err := rest.HTTPClientFor(self)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	p := &process{options: options, health: well, self: self, httpClient: httpClient}
	if err := well.Begin(ctx, options.HealthAddress, func(ctx context.Context) error { return p.introduce(ctx, self, httpClient) }); err != nil {
		return err
	}
	p.watch = apigroup.NewWatch(self, httpClient, p.home)
	if err := p.build(ctx, self); err != nil {
		return err
	}
	defer p.close()
	return p.manager.Start(ctx)
}

// process is an agent with its clients, caches and servers.
type process struct {
	options    Options
	self       *rest.Config // credentials of the process
	asNode     *rest.Config // credentials
	httpClient *http.Client
	writer     *nodestate.Writer
	events     corev1client.EventsGetter
	home       apigroup.Home
	homeSince  time.Time
	watch      *apigroup.Watch
	standDown  standDown
	manager    manager.Manager
	node       cluster.Cluster // the same API server, as the node
	// ownTransitions has the transitions of this node; the manager's cache has those of several nodes.
	ownTransitions cache.Cache
	observer       *telemetry.Source
	calls          *dispatch.Dispatcher
	health         *health.Process
}

// build builds the agent, and starts no part of it.
func (p *process) build(ctx context.Context, self *rest.Config) (err error) {
	if p.manager, err = p.newManager(ctx, self); err != nil {
		return fmt.Errorf("build the manager: %w", err)
	}
	if p.node, err = p.newNodeCluster(p.asNode); err != nil {
		return fmt.Errorf("build the node's cache: %w", err)
	}
	if p.ownTransitions, err = p.newTransitionCache(self); err != nil {
		return fmt.Errorf("build the cache of the node's transitions: %w", err)
	}
	if p.observer, err = telemetry.New(ctx, telemetry.Options{
		Component: telemetry.NodeAgent, APIGroup: p.home.Group(), Events: p.events, Metrics: p.options.Metrics,
	}); err != nil {
		return err
	}
	var waker, listWaker loop.Waker
	wake := func() { waker.Wake(p.options.NodeName) }
	drivers := plugins.New(p.options.RegistrationDirs, func() {
		wake()
		listWaker.Wake(p.options.NodeName)
	})
	p.standDown.changed = func() { listWaker.Wake(p.options.NodeName) }
	p.calls = dispatch.New(p.options.NodeName, drivers, clock.RealClock{}, p.observer.Calls(), wake)
	agent := New(Config{
		NodeName:         p.options.NodeName,
		Claimer:          lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: p.options.NodeName},
		FinishedEventTTL: p.options.FinishedEventTTL,
		HomeSince:        p.homeSince, Since: clock.RealClock{}.Now(), Clock: clock.RealClock{},
		Cached: Readers{
			Events: p.manager.GetCache(), Nodes: p.node.GetCache(), Transitions: []client.Reader{p.manager.GetCache(), p.ownTransitions},
			Transition: p.manager.GetAPIReader(),
		},
		Live: Readers{
			Events: p.manager.GetAPIReader(), Nodes: p.node.GetAPIReader(), Transitions: []client.Reader{
				loop.TransitionsOf(p.manager.GetAPIReader(), ""), loop.TransitionsOf(p.manager.GetAPIReader(), p.options.NodeName),
			},
			Transition: p.manager.GetAPIReader(),
		},
		Native: func(ctx context.Context) (bool, error) { return p.home.Native(ctx, p.self, p.httpClient) }, StandsDown: p.standDown.set,
		Wake: wake, Drivers: drivers, Calls: p.calls,
		Recorder: record.New(p.manager.GetClient()), Node: p.writer, Observer: p.observer.Node(p.options.NodeName),
	})
	if err := loop.Add(p.manager, "agent", p.health.Loop(agent), 1,
		source.TypedKind(p.manager.GetCache(), &lifecyclev1alpha1.LifecycleEvent{}, wakeOn[*lifecyclev1alpha1.LifecycleEvent](p.options.NodeName)),
		source.TypedKind(p.manager.GetCache(), &lifecyclev1alpha1.LifecycleTransition{}, wakeOn[*lifecyclev1alpha1.LifecycleTransition](p.options.NodeName)),
		source.TypedKind(p.ownTransitions, &lifecyclev1alpha1.LifecycleTransition{}, wakeOn[*lifecyclev1alpha1.LifecycleTransition](p.options.NodeName)),
		source.TypedKind(p.node.GetCache(), &corev1.Node{}, wakeOn[*corev1.Node](p.options.NodeName)),
		waker.Source(p.options.NodeName), // the first pass
	); err != nil {
		return err
	}
	list := &registered{clock: clock.RealClock{}, names: p.standDown.listed(drivers.Names), write: p.writer.SetDrivers}
	if err := loop.Add(p.manager, "drivers", list, 1, listWaker.Source(p.options.NodeName)); err != nil {
		return err
	}
	return p.addRunnables(drivers)
}

// wakeOn wakes the node after a change of any object.
func wakeOn[T client.Object](node string) handler.TypedEventHandler[T, string] {
	return loop.NodesOf(func(context.Context, T) []string { return []string{node} })
}

func (p *process) addRunnables(drivers *plugins.Registry) error {
	errs := []error{
		p.manager.Add(p.node),
		p.manager.Add(p.ownTransitions),
		p.manager.Add(manager.RunnableFunc(drivers.Run)),
	}
	for _, b := range p.options.Builtin {
		listener := bufconn.Listen(plugins.InProcessBuffer)
		drivers.AddInProcess(b.Name, listener.DialContext)
		errs = append(errs, p.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
			return b.Serve(ctx, listener, p.asNode, p.observer.Drains())
		})))
	}
	p.health.Check(health.Readiness, "api-home", p.watch.Check)
	p.health.Check(health.Readiness, "kubelet", p.standDown.check)
	return errors.Join(append(errs, p.health.AddTo(p.manager, p.options.Metrics))...)
}

// newManager builds the caches and clients with the identity of the process.
func (p *process) newManager(ctx context.Context, self *rest.Config) (manager.Manager, error) {
	m, err := ctrl.NewManager(self, manager.Options{
		Scheme:         p.home.Scheme(),
		MapperProvider: p.home.MapperProvider,
		Logger:         log.FromContext(ctx),
		Cache: cache.Options{
			ByObject: map[client.Object]cache.ByObject{
				&lifecyclev1alpha1.LifecycleEvent{}:      {Field: fields.OneTermEqualSelector(lifecycleevent.BindingNodeField, p.options.NodeName)},
				&lifecyclev1alpha1.LifecycleTransition{}: {Field: fields.OneTermEqualSelector(loop.TransitionNodeField, "")},
			},
			DefaultTransform:         cache.TransformStripManagedFields(),
			DefaultWatchErrorHandler: p.watch.Failed,
			NewInformer:              quota.Informers(limits),
		},
		Metrics:                metricsserver.Options{BindAddress: p.options.MetricsAddress},
		HealthProbeBindAddress: p.options.HealthAddress,
	})
	if err != nil {
		return nil, err
	}
	return m, loop.IndexEvents(ctx, m.GetFieldIndexer())
}

// newTransitionCache builds the cache of the node's own transitions. A field selector cannot select these and the
// transitions of several nodes together.
func (p *process) newTransitionCache(self *rest.Config) (cache.Cache, error) {
	return cache.New(self, cache.Options{
		HTTPClient: p.manager.GetHTTPClient(), Scheme: p.home.Scheme(), Mapper: p.manager.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&lifecyclev1alpha1.LifecycleTransition{}: {Field: fields.OneTermEqualSelector(loop.TransitionNodeField, p.options.NodeName)},
		},
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: p.watch.Failed,
		NewInformer:              quota.Informers(limits),
	})
}

// maxOfNode limits the events of one requester for the node, except those of maintenances and shutdowns, and the transitions of the node.
const maxOfNode = 100

// limits returns the limit of a kind of which less trusted users may create any number of objects for the node.
func limits(example runtime.Object) (quota.Limit, bool) {
	switch example.(type) {
	case *lifecyclev1alpha1.LifecycleEvent:
		return quota.Limit{Kind: "LifecycleEvent", Most: maxOfNode, Group: lifecycleevent.Requester}, true
	case *lifecyclev1alpha1.LifecycleTransition:
		ofNode := func(o metav1.Object) string {
			if t, ok := o.(*lifecyclev1alpha1.LifecycleTransition); ok {
				return t.Spec.NodeName // empty: an administrator has created it
			}
			return ""
		}
		return quota.Limit{Kind: "LifecycleTransition", Most: maxOfNode, Group: ofNode}, true
	default:
		return quota.Limit{}, false
	}
}

// newNodeCluster builds the cache of the Node, with the identity of the node.
func (p *process) newNodeCluster(asNode *rest.Config) (cluster.Cluster, error) {
	return cluster.New(asNode, func(o *cluster.Options) {
		o.Scheme = p.home.Scheme()
		o.MapperProvider = p.home.MapperProvider
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&corev1.Node{}: {Field: fields.OneTermEqualSelector("metadata.name", p.options.NodeName)},
		}
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
}

func (p *process) close() {
	p.calls.Wait()
	p.observer.Close()
}
