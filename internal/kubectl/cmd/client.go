// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// cluster is where a command reads and asks.
type cluster struct {
	config *rest.Config
	http   *http.Client
	// home is where its LifecycleEvents live.
	home apigroup.Home
}

// reach finds the cluster of the flags, and asks it nothing: the home is yet to be found.
func (t *tool) reach() (cluster, error) {
	config, err := t.flags.ToRESTConfig()
	if err != nil {
		return cluster{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // kubectl's own
	config.UserAgent = "kubectl-slipway"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return cluster{}, fmt.Errorf("build a client: %w", err)
	}
	return cluster{config: config, http: client}, nil
}

// connect is reach, with the home. Where Slipway is not installed, the error is
// [apigroup.ErrNotInstalled], and the rest of the cluster can be used.
func (t *tool) connect(ctx context.Context) (cluster, error) {
	c, err := t.reach()
	if err != nil {
		return c, err
	}
	c.home, err = apigroup.Find(ctx, c.config, c.http)
	switch {
	case errors.Is(err, apigroup.ErrNotInstalled):
		return c, notInstalledError{}
	case err != nil:
		return c, fmt.Errorf("find Slipway on the cluster: %w", err)
	default:
		return c, nil
	}
}

// notInstalledError is [apigroup.ErrNotInstalled] as people are told it.
type notInstalledError struct{}

func (notInstalledError) Error() string {
	return "Slipway is not on this cluster; 'kubectl slipway install' shows what it would create there, and asks"
}

func (notInstalledError) Unwrap() error { return apigroup.ErrNotInstalled }

// client reads and writes Nodes, and the kinds of Slipway.
func (c cluster) client() (client.WithWatch, error) {
	built, err := client.NewWithWatch(c.config, client.Options{HTTPClient: c.http, Scheme: c.home.Scheme(), Mapper: c.home.Mapper()})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return built, nil
}

// open is connect, with a client.
func (t *tool) open(ctx context.Context) (cluster, client.WithWatch, error) {
	c, err := t.connect(ctx)
	if err != nil {
		return c, nil, err
	}
	built, err := c.client()
	return c, built, err
}
