// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"sync"

	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// registration answers who the driver is, to whoever watches the registration
// directory.
type registration struct {
	registerapi.UnimplementedRegistrationServer

	logger   klog.Logger
	name     string
	endpoint string

	mu       sync.Mutex
	lastSaid string
}

// GetInfo is called when the registration socket has been found.
func (r *registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type:              driverv1.PluginType,
		Name:              r.name,
		Endpoint:          r.endpoint,
		SupportedVersions: []string{driverv1.ServiceName},
	}, nil
}

// NotifyRegistrationStatus is called with the outcome. A refusal does not end the
// driver: the caller tries again, for example when an older instance has gone.
func (r *registration) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	if !r.isNews(status) {
		return &registerapi.RegistrationStatusResponse{}, nil
	}
	if status.GetPluginRegistered() {
		r.logger.Info("Registered with the agent", "driver", r.name)
	} else {
		r.logger.Error(errors.New(status.GetError()), "The agent refuses the driver", "driver", r.name)
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}

// isNews keeps retries from filling the log.
func (r *registration) isNews(status *registerapi.RegistrationStatus) bool {
	said := "registered"
	if !status.GetPluginRegistered() {
		said = "refused: " + status.GetError()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	news := said != r.lastSaid
	r.lastSaid = said
	return news
}
