// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-k8s/slipway/internal/host/logind"
	"github.com/slipway-k8s/slipway/internal/host/manifests"
	"github.com/slipway-k8s/slipway/internal/platform/health"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
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

// manager is what the holder runs in, as healthy as it is. It asks the API server nothing, which may
// be away.
func (h *holder) manager(ctx context.Context, self *rest.Config) (manager.Manager, error) {
	m, err := ctrl.NewManager(self, manager.Options{
		Logger:                 log.FromContext(ctx),
		MapperProvider:         mapper,
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
		if err := h.connect(ctx, m, self); ctx.Err() == nil {
			return err
		}
		return nil // it is to end, and nothing has failed
	})
	return m, errors.Join(m.Add(h), m.Add(connect), h.well.Serve(m, metrics.Registry))
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
