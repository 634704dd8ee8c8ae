// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-k8s/slipway/internal/host/manifests"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
)

// apiServer is the API server, to which this process is the node.
type apiServer struct {
	cached client.Reader // of the one Node
	node   *nodestate.Writer
}

// connect has the Node watched, and manifests moved, from when the API server answers. It may be
// away for long when this process begins: the machine's lock needs none.
func (h *holder) connect(ctx context.Context, m manager.Manager, self *rest.Config) error {
	asNode, err := h.introduce(ctx, h.well.Seen(self))
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(asNode)
	if err != nil {
		return fmt.Errorf("build the node's client: %w", err)
	}
	nodes, err := h.nodes(asNode, m)
	if err != nil {
		return fmt.Errorf("build the node's cache: %w", err)
	}
	server := &apiServer{nodes, nodestate.NewWriter(clients.CoreV1().Nodes(), h.options.NodeName, h.clock)}
	mover := manifests.New(h.options.statics(), server.cached, server.node, h.well, h.clock)
	if err := errors.Join(wake(ctx, nodes, func() { h.look(); mover.Look() }), m.Add(nodes)); err != nil {
		return err
	}
	if !nodes.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	h.server.Store(server)
	h.well.Filled(ctx)
	h.look()
	return m.Add(mover)
}

// introduce finds out as whom the node's requests are made. From when that is known, or nobody
// answers it, shutdowns are held: not before, because who lacks the rights for a drain would hold up
// each of them until logind's limit, and nobody would drain the node meanwhile.
func (h *holder) introduce(ctx context.Context, self *rest.Config) (asNode *rest.Config, err error) {
	agent := identity.Agent{NodeName: h.options.NodeName, As: identity.ActAsNode, OnlyAnnounces: true}
	err = h.well.Ask(ctx, func(ctx context.Context) (err error) {
		var user string
		if asNode, user, err = identity.For(ctx, self, agent.NodeName, identity.ActAsNode); err != nil {
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

// nodes has the one Node in it.
func (h *holder) nodes(asNode *rest.Config, m manager.Manager) (cache.Cache, error) {
	return cache.New(asNode, cache.Options{
		Mapper: m.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Field: fields.OneTermEqualSelector("metadata.name", h.options.NodeName)},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	})
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
