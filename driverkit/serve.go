// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	// shutdownGrace limits the end of the driver's work, and then of the calls in progress,
	// when Serve ends.
	shutdownGrace = 10 * time.Second
	// socketCheck is the interval of the checks for the socket files.
	socketCheck = 10 * time.Second
)

// Serve registers the driver with the agent of its node and serves its calls, until ctx
// ends or an error occurs. When it returns, everything that it started has ended.
//
// When ctx ends, Serve first removes the registration, so that the agent calls no longer.
// Then it closes the driver ([Closer]), and waits for the calls in progress, each for at
// most 10 s. It then returns nil.
//
// It fails if the config is invalid, if the sockets cannot be created or are removed, if a
// server fails, or if a transition can never be published. An unreachable API server is not
// a failure: Serve retries the publication.
//
// The logger comes from ctx (klog.NewContext).
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

	listener                         net.Listener
	driverSocket, registrationSocket *socket // nil with Config.Listener
	driverServer, registrationServer *grpc.Server
	service                          *service
	releaseHeld                      context.CancelFunc
}

// listenAll creates the sockets, the registration socket last: an agent that finds it can
// call. With Config.Listener, it creates none.
func listenAll(ctx context.Context, config Config, driver Driver) (*plugin, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("invalid config: %w", err)
	}
	config = config.withDefaults()
	p := &plugin{config: config, driver: driver, publisher: newPublisher(config), listener: config.Listener}
	if p.listener == nil {
		if err := p.listen(ctx); err != nil {
			return nil, err
		}
	}
	p.buildServers(klog.FromContext(ctx))
	return p, nil
}

func (p *plugin) listen(ctx context.Context) error {
	paths, err := p.config.socketPaths()
	if err != nil {
		return err
	}
	if err := makeDirs(paths); err != nil {
		return err
	}
	removeStale(ctx, paths)
	if p.driverSocket, err = listen(ctx, paths.driver); err != nil {
		return err
	}
	p.listener = p.driverSocket
	if p.registrationSocket, err = listen(ctx, paths.registration); err != nil {
		return errors.Join(err, p.driverSocket.unlink(), p.driverSocket.Close())
	}
	return nil
}

func makeDirs(paths socketPaths) error {
	own := filepath.Dir(paths.driver)
	for _, dir := range []string{own, filepath.Dir(paths.registration)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make directory for sockets: %w", err)
		}
	}
	// The driver's own directory may already exist with another mode. The other directories
	// are shared: a driver must not change their mode.
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
	if p.registrationSocket == nil {
		return
	}
	p.registrationServer = grpc.NewServer()
	registerapi.RegisterRegistrationServer(p.registrationServer, &registration{
		logger:     logger,
		name:       p.config.DriverName,
		endpoint:   p.driverSocket.path,
		registered: p.publisher.again,
	})
}

// run owns every goroutine of the kit: the first error ends all goroutines.
func (p *plugin) run(ctx context.Context) error {
	at := "this process"
	if p.registrationSocket != nil {
		at = p.registrationSocket.path
	}
	klog.FromContext(ctx).Info("Serving", "driver", p.config.DriverName, "registration", at)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveAt(p.driverServer, p.listener) })
	group.Go(func() error { return p.publisher.run(ctx) })
	if p.registrationSocket != nil {
		group.Go(func() error { return serveAt(p.registrationServer, p.registrationSocket) })
		group.Go(func() error { return p.watchSockets(ctx) })
	}
	group.Go(func() error {
		<-ctx.Done()
		return p.stop(context.WithoutCancel(ctx))
	})
	return group.Wait()
}

func serveAt(server *grpc.Server, listener net.Listener) error {
	// If ctx had already ended, the server was stopped before it began to serve.
	if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

// watchSockets fails when a socket's file disappears: an agent cannot find such a driver,
// and an unreachable driver must not look alive.
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
