// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

const (
	// shutdownGrace is how long the driver's work, and then the calls that are going
	// on, may take to end when Serve ends.
	shutdownGrace = 10 * time.Second
	// socketCheck is how often the kit looks whether its sockets are still there.
	socketCheck = 10 * time.Second
)

// Serve registers the driver with the agent of its node and serves its calls, until
// ctx ends or something fails. Everything it started has ended when it returns.
//
// When ctx ends, the registration goes first, so that the agent calls no more; then
// the driver is closed ([Closer]), and the calls that are going on are waited for,
// each for at most 10 s. Serve then returns nil.
//
// It fails if the config is not valid, if the sockets cannot be made or are taken
// away, if a server fails, or if a transition cannot be published for good. An API
// server that cannot be reached is not a failure: publishing is tried again.
//
// The logger is ctx's (klog.NewContext).
func Serve(ctx context.Context, config Config, driver Driver) error {
	p, err := listenAll(ctx, config, driver)
	if err != nil {
		return fmt.Errorf("driver %s: %w", config.DriverName, err)
	}
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("driver %s: %w", config.DriverName, err)
	}
	return nil
}

// plugin is a driver with its sockets.
type plugin struct {
	config    Config
	driver    Driver
	publisher *publisher

	driverSocket, registrationSocket *socket
	driverServer, registrationServer *grpc.Server
	service                          *service
	releaseHeld                      context.CancelFunc
}

// listenAll makes the sockets, the registration's last: who finds it can call.
func listenAll(ctx context.Context, config Config, driver Driver) (*plugin, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("invalid config: %w", err)
	}
	config = config.withDefaults()
	paths, err := config.socketPaths()
	if err != nil {
		return nil, err
	}
	if err := makeDirs(paths); err != nil {
		return nil, err
	}
	removeStale(ctx, paths)
	p := &plugin{config: config, driver: driver, publisher: newPublisher(config)}
	if p.driverSocket, err = listen(ctx, paths.driver); err != nil {
		return nil, err
	}
	if p.registrationSocket, err = listen(ctx, paths.registration); err != nil {
		return nil, errors.Join(err, p.driverSocket.unlink(), p.driverSocket.Close())
	}
	p.buildServers(klog.FromContext(ctx))
	return p, nil
}

func makeDirs(paths socketPaths) error {
	own := filepath.Dir(paths.driver)
	for _, dir := range []string{own, filepath.Dir(paths.registration)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make directory for sockets: %w", err)
		}
	}
	// The driver's own directory may be from before, with another mode. The others
	// are shared: their mode is not for one driver to change.
	if err := os.Chmod(own, 0o700); err != nil {
		return fmt.Errorf("restrict directory of sockets: %w", err)
	}
	return nil
}

func (p *plugin) buildServers(logger klog.Logger) {
	var closing context.Context
	closing, p.releaseHeld = context.WithCancel(context.Background())

	p.service = &service{
		driver:  p.driver,
		config:  p.config,
		logger:  logger.WithValues("driver", p.config.DriverName, "node", p.config.NodeName),
		closing: closing,
	}
	p.driverServer = grpc.NewServer()
	driverv1.RegisterSLMPluginServer(p.driverServer, p.service)
	p.registrationServer = grpc.NewServer()
	registerapi.RegisterRegistrationServer(p.registrationServer, &registration{
		logger:   logger,
		name:     p.config.DriverName,
		endpoint: p.driverSocket.path,
	})
}

// run owns every goroutine of the kit: the first error of any ends all of them.
func (p *plugin) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveSocket(p.driverServer, p.driverSocket) })
	group.Go(func() error { return serveSocket(p.registrationServer, p.registrationSocket) })
	group.Go(func() error { return p.publisher.run(ctx) })
	group.Go(func() error { return p.watchSockets(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		return p.stop(context.WithoutCancel(ctx))
	})
	return group.Wait()
}

func serveSocket(server *grpc.Server, socket *socket) error {
	// It is stopped before it began to serve if ctx had ended by then.
	if err := server.Serve(socket); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve %s: %w", socket.path, err)
	}
	return nil
}

// watchSockets fails when a socket's file is taken away: nobody can call a driver
// that cannot be found, and a driver that nobody can call must not look alive.
func (p *plugin) watchSockets(ctx context.Context) error {
	ticker := p.config.Clock.NewTicker(socketCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			for _, s := range []*socket{p.driverSocket, p.registrationSocket} {
				if !s.inPlace() {
					return fmt.Errorf("socket %s was removed, or replaced by another process", s.path)
				}
			}
		}
	}
}
