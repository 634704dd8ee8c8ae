// SPDX-License-Identifier: Apache-2.0

package central

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-k8s/slipway/internal/evictions"
)

// addEvictions makes the leader do what EvictionRequests ask for.
func (p *process) addEvictions(self *rest.Config) error {
	requests, err := evictions.New(self, clock.RealClock{})
	if err != nil {
		return fmt.Errorf("build the evictionrequest-controller: %w", err)
	}
	return p.manager.Add(manager.RunnableFunc(requests.Run))
}
