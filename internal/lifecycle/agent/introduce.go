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

// introduce finds out as whom the node's requests are made, whether that is enough, and where the
// API is, and since when.
func (p *process) introduce(ctx context.Context, self *rest.Config, httpClient *http.Client) (err error) {
	var user string
	if p.asNode, user, err = identity.For(ctx, self, p.options.NodeName, p.options.ActAs); err != nil {
		return err
	}
	if p.home, err = apigroup.Find(ctx, self, httpClient); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Starting", "node", p.options.NodeName, "actingAs", user, "home", p.home.Group())
	if err := checkRights(ctx, self, p.asNode, p.home, p.options); err != nil {
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

// checkRights fails where the agent could not do its work, and tells what it does
// without.
func checkRights(ctx context.Context, self, asNode *rest.Config, found apigroup.Home, options Options) error {
	logger := log.FromContext(ctx)
	if options.ActAs == identity.ActAsSelf {
		logger.Info(identity.WeakerWarning)
	}
	without, err := identity.Preflight(ctx, self, asNode, identity.Agent{
		NodeName: options.NodeName, Group: found.Group(), As: options.ActAs, Drains: len(options.Builtin) > 0,
	})
	if len(without) > 0 {
		logger.Info("Some rights are not given; what needs them is not done", "rights", without)
	}
	return err
}
