// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	maintenancecontroller "github.com/slipway-k8s/slipway/internal/maintenance/controller"
)

// addMaintenances makes the leader carry out NodeMaintenances. While there are none, it
// watches, and does nothing else.
func (p *process) addMaintenances(ctx context.Context, self *rest.Config) error {
	m, err := maintenancecontroller.New(ctx, maintenancecontroller.Options{
		Self: self, Cache: p.manager.GetCache(), Client: p.manager.GetClient(), Live: p.manager.GetAPIReader(),
		Events: record.New(p.manager.GetClient()), Node: p.writer, Tell: p.observer.Maintenances(),
		Namespace: p.options.Namespace, Leases: p.options.NodeLeases, Clock: p.clock,
	})
	if err != nil {
		return fmt.Errorf("build what carries out maintenances: %w", err)
	}
	return p.manager.Add(manager.RunnableFunc(m.Run))
}
