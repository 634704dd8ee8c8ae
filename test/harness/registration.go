// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"

	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// Registration tells an agent who a driver is, and at which socket it is.
type Registration struct {
	registerapi.UnimplementedRegistrationServer

	Name, Endpoint string
}

// GetInfo is the registration's.
func (r Registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: driverv1.PluginType, Name: r.Name, Endpoint: r.Endpoint, SupportedVersions: []string{driverv1.ServiceName},
	}, nil
}

// NotifyRegistrationStatus is the registration's.
func (r Registration) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}
