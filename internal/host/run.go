// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-k8s/slipway/internal/health"
	"github.com/slipway-k8s/slipway/internal/identity"
	"github.com/slipway-k8s/slipway/internal/logind"
	"github.com/slipway-k8s/slipway/internal/manifests"
	"github.com/slipway-k8s/slipway/internal/nodestate"
	"github.com/slipway-k8s/slipway/internal/observe"
)

// DefaultBootIDFile is where Linux, and a kubelet, have the boot ID from.
const DefaultBootIDFile = "/proc/sys/kernel/random/boot_id"

// Options are the settings of the process on a machine.
type Options struct {
	// NodeName is the machine's node. Required.
	NodeName string
	// Bus is the socket of the machine's system bus.
	Bus string
	// Keeper is the socket of who keeps the lock besides. Empty: nobody does.
	Keeper string
	// BootIDFile has the machine's boot ID in it.
	BootIDFile string
	// StaticPods is the folder that the kubelet reads static pods from; empty: they are left
	// alone. ControlPlane: those of the control plane are not, either.
	StaticPods   string
	ControlPlane bool
	// HealthAddress serves /healthz and /readyz; MetricsAddress serves /metrics. "0":
	// not at all.
	HealthAddress, MetricsAddress string
}

// Run holds the shutdowns of the machine until ctx ends.
func Run(ctx context.Context, self *rest.Config, options Options) error {
	if err := options.statics().Check(); err != nil {
		return err
	}
	bootID, err := os.ReadFile(options.BootIDFile)
	if err != nil {
		return fmt.Errorf("read the boot ID (--boot-id-file): %w", err)
	}
	well := health.New(clock.RealClock{})
	asNode, user, err := identity.AsNode(ctx, well.Seen(self), options.NodeName)
	if err != nil {
		return err
	}
	_, err = identity.Preflight(ctx, self, asNode, identity.Agent{NodeName: options.NodeName, As: identity.ActAsNode, OnlyAnnounces: true})
	if err != nil {
		return err
	}
	bus, err := logind.Connect(ctx, options.Bus)
	if err != nil {
		return err
	}
	log.FromContext(ctx).Info("Starting", "node", options.NodeName, "actingAs", user)
	h := newHolder(options, strings.TrimSpace(string(bootID)), bus, well, clock.RealClock{})
	m, err := h.manager(ctx, asNode)
	if err != nil {
		return errors.Join(err, bus.Close())
	}
	return errors.Join(m.Start(ctx), h.close())
}

// manager is what the holder runs in: with the Node watched, and as healthy as it is.
func (h *holder) manager(ctx context.Context, asNode *rest.Config) (manager.Manager, error) {
	m, err := ctrl.NewManager(asNode, manager.Options{
		Logger:         log.FromContext(ctx),
		MapperProvider: mapper,
		Cache: cache.Options{
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Node{}: {Field: fields.OneTermEqualSelector("metadata.name", h.options.NodeName)},
			},
			DefaultTransform: cache.TransformStripManagedFields(),
		},
		Metrics:                metricsserver.Options{BindAddress: h.options.MetricsAddress},
		HealthProbeBindAddress: h.options.HealthAddress,
	})
	if err != nil {
		return nil, fmt.Errorf("build the manager: %w", err)
	}
	clients, err := kubernetes.NewForConfig(asNode)
	if err != nil {
		return nil, fmt.Errorf("build the node's client: %w", err)
	}
	h.cached = m.GetCache()
	h.node = nodestate.NewWriter(clients.CoreV1().Nodes(), h.options.NodeName, h.clock)
	if h.metrics, err = observe.NewHost(metrics.Registry); err != nil {
		return nil, err
	}
	mover := manifests.New(h.options.statics(), h.cached, h.node, h.well, h.clock)
	err = wake(ctx, m.GetCache(), func() { h.look(); mover.Look() })
	h.well.Check(health.Readiness, "lock", h.unlocked)
	return m, errors.Join(err, m.Add(h), m.Add(mover), h.well.AddTo(m, metrics.Registry))
}

// wake has look called when the Node has changed.
func wake(ctx context.Context, nodes cache.Cache, look func()) error {
	informer, err := nodes.GetInformer(ctx, &corev1.Node{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the node: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { look() },
		UpdateFunc: func(any, any) { look() },
		DeleteFunc: func(any) { look() },
	})
	return err
}

// statics are the settings of who moves manifests.
func (o Options) statics() manifests.Options {
	return manifests.Options{NodeName: o.NodeName, Dir: o.StaticPods, ControlPlane: o.ControlPlane}
}

// mapper knows the one kind that there is to do with, and asks nothing of the server.
func mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return m, nil
}
