// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// meta is the metadata of an object, as far as it matters.
type meta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	Finalizers        []string          `json:"finalizers"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	OwnerReferences   []struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences"`
}

type pod struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

func (p *pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// budgetVersion is a budget as it was written at some time.
type budgetVersion struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Selector *struct {
			MatchLabels      map[string]string `json:"matchLabels"`
			MatchExpressions []struct {
				Key      string   `json:"key"`
				Operator string   `json:"operator"`
				Values   []string `json:"values"`
			} `json:"matchExpressions"`
		} `json:"selector"`
		UnhealthyPodEvictionPolicy string `json:"unhealthyPodEvictionPolicy"`
	} `json:"spec"`
	Status struct {
		DisruptionsAllowed int `json:"disruptionsAllowed"`
		CurrentHealthy     int `json:"currentHealthy"`
		DesiredHealthy     int `json:"desiredHealthy"`
		// DisruptedPods are those whose evictions are in the other numbers already.
		DisruptedPods map[string]string `json:"disruptedPods"`
	} `json:"status"`

	since time.Time // when it was written
	used  int       // evictions accepted under it
}

// budget is all versions of a budget, in order.
type budget struct {
	versions []*budgetVersion
	gone     bool
}

type event struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		BindingNode    string `json:"bindingNode"`
		TransitionName string `json:"transitionName"`
	} `json:"spec"`
	Status struct {
		ClaimStatus string `json:"claimStatus"`
	} `json:"status"`
}

type node struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
}

// object decodes the object that a write has left behind; nil if the log has none.
func object[T any](r auditlog.Request) *T {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(r.Answer, &kind); err != nil || kind.Kind == "Status" {
		return nil
	}
	var o T
	if err := json.Unmarshal(r.Answer, &o); err != nil {
		return nil
	}
	return &o
}

func key(namespace, name string) string { return namespace + "/" + name }
