// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-k8s/slipway/internal/host/logind"
	"github.com/slipway-k8s/slipway/internal/host/manifests"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/health"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// DefaultBootIDFile is the file with the boot ID on Linux, which a kubelet reads, too.
const DefaultBootIDFile = "/proc/sys/kernel/random/boot_id"

// Options are the settings of the process on a machine.
type Options struct {
	// NodeName is the machine's node. Required.
	NodeName string
	// Bus is the socket of the machine's system bus.
	Bus string
	// Keeper is the socket of the keeper; empty: the process runs without a keeper.
	Keeper string
	// BootIDFile contains the machine's boot ID.
	BootIDFile string
	// StaticPods is the kubelet's folder of static pods; empty: the process moves no manifests. ControlPlane allows to
	// move manifests of the control plane.
	StaticPods   string
	ControlPlane bool
	// HealthAddress serves /healthz and /readyz; MetricsAddress serves /metrics. "0" switches a server off.
	HealthAddress, MetricsAddress string
}

// Run delays the shutdowns of the machine until ctx ends.
func Run(ctx context.Context, self *rest.Config, options Options) error {
	if err := options.manifests().Check(); err != nil {
		return err
	}
	bootID, err := os.ReadFile(options.BootIDFile)
	if err != nil {
		return fmt.Errorf("read the boot ID (--boot-id-file): %w", err)
	}
	bus, err := logind.Connect(ctx, options.Bus)
	if err != nil {
		return err
	}
	h := newHolder(options, strings.TrimSpace(string(bootID)), bus, health.New(clock.RealClock{}), clock.RealClock{})
	m, err := h.manager(ctx, self)
	if err != nil {
		return errors.Join(err, bus.Close())
	}
	return errors.Join(m.Start(ctx), h.close())
}

// manager returns the manager of the process. Building it sends no request to the API server, which may be
// unavailable.
func (h *holder) manager(ctx context.Context, self *rest.Config) (manager.Manager, error) {
	m, err := ctrl.NewManager(self, manager.Options{
		Logger:                 log.FromContext(ctx),
		Metrics:                metricsserver.Options{BindAddress: h.options.MetricsAddress},
		HealthProbeBindAddress: h.options.HealthAddress,
	})
	if err != nil {
		return nil, fmt.Errorf("build the manager: %w", err)
	}
	if h.metrics, err = telemetry.NewHost(metrics.Registry); err != nil {
		return nil, err
	}
	h.well.Check(health.Readiness, "lock", h.unlocked)
	connect := manager.RunnableFunc(func(ctx context.Context) error {
		if err := h.connect(ctx, self); ctx.Err() == nil {
			return err
		}
		return nil // the process ends, which is no failure
	})
	return m, errors.Join(m.Add(h), m.Add(connect), h.well.Serve(m, metrics.Registry))
}

func (o Options) manifests() manifests.Options {
	return manifests.Options{NodeName: o.NodeName, Dir: o.StaticPods, ControlPlane: o.ControlPlane}
}

// apiServer is the API server, to which this process is the node.
type apiServer struct {
	read func() (*corev1.Node, error) // from the watch; nil: the Node does not exist
	node *nodestate.Writer
}

// connect watches the Node and moves manifests once the API server answers.
func (h *holder) connect(ctx context.Context, self *rest.Config) error {
	asNode, err := h.introduce(ctx, h.well.Seen(self))
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(asNode)
	if err != nil {
		return fmt.Errorf("build the node's client: %w", err)
	}
	name := h.options.NodeName
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0,
		informers.WithTransform(cache.TransformStripManagedFields()),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	nodes := factory.Core().V1().Nodes()
	server := &apiServer{node: nodestate.NewWriter(clients.CoreV1().Nodes(), name, h.clock), read: func() (*corev1.Node, error) {
		node, err := nodes.Lister().Get(name)
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // as documented
		}
		return node, err
	}}
	mover := manifests.New(h.options.manifests(), server.read, server.node, h.well, h.clock)
	watches, err := loop.Watch(ctx, factory, func(any) { h.look(); mover.Look() }, nil, nodes.Informer())
	if err != nil {
		return err
	}
	defer watches.Close()
	if !watches.WaitForSync(ctx) {
		return ctx.Err()
	}
	h.server.Store(server)
	h.well.Filled(ctx)
	h.look()
	return mover.Start(ctx)
}

// introduce returns the credentials for requests as the node. Shutdowns are delayed once they are valid, or once the
// API server does not answer. They are not delayed before that: a process without the permissions for a drain would
// delay each shutdown until logind's limit, without a drain.
func (h *holder) introduce(ctx context.Context, self *rest.Config) (asNode *rest.Config, err error) {
	agent := identity.Agent{NodeName: h.options.NodeName, As: identity.ActAsNode, OnlyAnnounces: true}
	err = h.well.Ask(ctx, func(ctx context.Context) (err error) {
		var user string
		if asNode, user, err = identity.For(ctx, self, agent.NodeName, agent.As); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Known to the API server", "node", agent.NodeName, "actingAs", user)
		_, err = identity.Preflight(ctx, self, asNode, agent)
		return err
	}, h.begin)
	if err == nil {
		h.begin()
	}
	return asNode, err
}
