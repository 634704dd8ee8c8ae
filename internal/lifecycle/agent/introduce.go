// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
)

// introduce finds the identity of the agent's requests and the API group. It fails if the
// agent lacks a permission that it cannot work without.
func (p *process) introduce(ctx context.Context, self *rest.Config, httpClient *http.Client) (err error) {
	var user string
	if p.asNode, user, err = identity.For(ctx, self, p.options.NodeName, p.options.ActAs); err != nil {
		return err
	}
	if p.home, err = apigroup.Find(ctx, self, httpClient); err != nil {
		return err
	}
	logger := log.FromContext(ctx)
	logger.Info("Starting", "node", p.options.NodeName, "actingAs", user, "home", p.home.Group())
	if p.options.ActAs == identity.ActAsSelf {
		logger.Info(identity.WeakerWarning)
	}
	missing, err := identity.Preflight(ctx, self, p.asNode, identity.Agent{
		NodeName: p.options.NodeName, Group: p.home.Group(), As: p.options.ActAs, Drains: len(p.options.Builtin) > 0,
	})
	if len(missing) > 0 {
		logger.Info("Some permissions are missing: the agent skips the actions that require them", "permissions", missing)
	}
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(p.asNode)
	if err != nil {
		return fmt.Errorf("build the node's client: %w", err)
	}
	p.writer = nodestate.NewWriter(clients.CoreV1().Nodes(), p.options.NodeName, clock.RealClock{})
	p.events = clients.CoreV1()
	p.homeSince, err = p.writer.RememberHome(ctx, p.home.Group())
	return err
}
