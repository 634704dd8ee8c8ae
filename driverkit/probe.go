// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

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
