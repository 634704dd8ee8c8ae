// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// maintenance is a NodeMaintenance.
type maintenance struct {
	thing
	Spec maintenanceSpec `json:"spec"`

	said []said // all specs so far, in order
}

type maintenanceSpec struct {
	NodeSelector corev1.NodeSelector `json:"nodeSelector"`
	Stage        string              `json:"stage"`
	Paused       bool                `json:"paused"`
	Retry        int64               `json:"retry"`
	Rollout      *rollout            `json:"rollout"`
	Drain        struct {
		UnmanagedPods string `json:"unmanagedPods"`
		LocalStorage  string `json:"localStorage"`
	} `json:"drain"`
	Window struct {
		NotBefore time.Time `json:"notBefore"`
		Deadline  time.Time `json:"deadline"`
	} `json:"window"`
}

type rollout struct {
	MaxUnavailable any    `json:"maxUnavailable"`
	TopologyKey    string `json:"topologyKey"`
	PerDomain      int    `json:"perDomain"`
}

// most returns the greatest number of the selected nodes out of service: a number, or a percentage, rounded down, of
// at least one. The default is one; with perDomain, any number.
func (o *rollout) most(selected int) int {
	switch m := o.MaxUnavailable.(type) {
	case float64:
		return int(m)
	case string:
		percent, err := strconv.Atoi(strings.TrimSuffix(m, "%"))
		if err == nil {
			return max(1, selected*percent/100)
		}
	case nil:
		if o.PerDomain > 0 {
			return selected
		}
	}
	return 1
}

// said has the spec of a maintenance from some time on.
type said struct {
	since time.Time
	maintenanceSpec
}

// maintenanceWritten records a maintenance, by its UID: a later maintenance can have the same name.
func (c *checker) maintenanceWritten(r auditlog.Request) {
	if deletes(r) {
		for uid, known := range c.maintenances {
			if (known.name() == r.Name || r.Name == "") && len(known.Metadata.Finalizers) == 0 {
				delete(c.maintenances, uid)
			}
		}
		return
	}
	o := object[maintenance](r)
	if o == nil {
		return
	}
	if known := c.maintenances[o.Metadata.UID]; known != nil {
		if o.olderThan(&known.thing) {
			return
		}
		o.said = known.said
	}
	o.said = append(o.said, said{r.Ended, o.Spec})
	c.maintenances[o.Metadata.UID] = o
	if o.Metadata.DeletionTimestamp != "" && len(o.Metadata.Finalizers) == 0 {
		delete(c.maintenances, o.Metadata.UID)
	}
}

// since returns the specs at the given time and later.
func (m *maintenance) since(at time.Time) []maintenanceSpec {
	var all []maintenanceSpec
	for i, s := range m.said {
		if i+1 == len(m.said) || !m.said[i+1].since.Before(at) {
			all = append(all, s.maintenanceSpec)
		}
	}
	return all
}

// selected counts the selected nodes that the log knows.
func (c *checker) selected(by *corev1.NodeSelector) (count int) {
	for _, n := range c.nodes {
		if selectsNode(by, n) {
			count++
		}
	}
	return count
}
