// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// registration reports the identity of the driver to the watcher of the registration
// directory.
type registration struct {
	registerapi.UnimplementedRegistrationServer

	logger   klog.Logger
	name     string
	endpoint string
	// registered is called after each registration.
	registered func()

	mu       sync.Mutex
	lastSaid string
}

// GetInfo is called when the agent has found the registration socket.
func (r *registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type:              driverv1.PluginType,
		Name:              r.name,
		Endpoint:          r.endpoint,
		SupportedVersions: []string{driverv1.ServiceName},
	}, nil
}

// NotifyRegistrationStatus receives the outcome. A rejection does not end the driver: the
// caller retries, for example after the end of an older instance. Retries with the same
// outcome are not logged again.
func (r *registration) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	outcome := "registered"
	if status.GetPluginRegistered() {
		r.registered()
	} else {
		outcome = "refused: " + status.GetError()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case outcome == r.lastSaid:
	case status.GetPluginRegistered():
		r.logger.Info("Registered with the agent", "driver", r.name)
	default:
		r.logger.Error(errors.New(status.GetError()), "The agent refuses the driver", "driver", r.name)
	}
	r.lastSaid = outcome
	return &registerapi.RegistrationStatusResponse{}, nil
}

// Probe requests the identity of the driver that [Serve] serves with the same config, like
// an agent, and fails if there is no answer before ctx ends. Use it for the liveness and
// readiness checks of the driver's process: a restart repairs a driver that does not
// answer. It does not check whether an agent has found the driver.
func Probe(ctx context.Context, config Config) error {
	paths, err := config.withDefaults().socketPaths()
	if err != nil {
		return fmt.Errorf("driver %s: %w", config.DriverName, err)
	}
	connection, err := grpc.NewClient("unix://"+paths.registration, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("driver %s: %w", config.DriverName, err)
	}
	defer func() { _ = connection.Close() }() // the answer has arrived
	info, err := registerapi.NewRegistrationClient(connection).GetInfo(ctx, &registerapi.InfoRequest{})
	if err != nil {
		return fmt.Errorf("driver %s does not answer at %s: %w", config.DriverName, paths.registration, err)
	}
	if info.GetName() != config.DriverName {
		return fmt.Errorf("driver %s: socket %s belongs to driver %s", config.DriverName, paths.registration, info.GetName())
	}
	return nil
}
