// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"encoding/json"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// cordons says whether a patch of a Node makes it unschedulable, or schedulable again.
func cordons(r auditlog.Request, wanted bool) bool {
	var body struct {
		Spec map[string]any `json:"spec"`
	}
	if r.Verb != "patch" || r.Subresource != "" || json.Unmarshal(r.Body, &body) != nil {
		return false
	}
	value, says := body.Spec["unschedulable"]
	return says && (value == true) == wanted
}

// written is an object as a request has left it.
type written struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		HolderIdentity string `json:"holderIdentity"`
	} `json:"spec"`
}

func answered(r auditlog.Request) (o written) {
	if err := json.Unmarshal(r.Answer, &o); err != nil {
		return written{} // of a deletion
	}
	return o
}

// nameIn is that of the object: of one that was created, the request does not say it.
func nameIn(r auditlog.Request) string { return answered(r).Metadata.Name }

// holderIn is who has the lease after a request.
func holderIn(r auditlog.Request) string { return answered(r).Spec.HolderIdentity }
