// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// deleteOptions are the options of a deletion or eviction of a pod.
type deleteOptions struct {
	GracePeriodSeconds *int64   `json:"gracePeriodSeconds"`
	DryRun             []string `json:"dryRun"`
	Preconditions      struct {
		UID string `json:"uid"`
	} `json:"preconditions"`
}

// eviction is the body of one.
type eviction struct {
	DeleteOptions deleteOptions `json:"deleteOptions"`
}

// optionsOf returns the options of a deletion or an eviction.
func optionsOf(r auditlog.Request) (deleteOptions, error) {
	if r.Subresource == "eviction" {
		var e eviction
		err := json.Unmarshal(r.Body, &e)
		return e.DeleteOptions, err
	}
	var o deleteOptions
	if len(r.Body) == 0 {
		return o, nil
	}
	err := json.Unmarshal(r.Body, &o)
	return o, err
}

// dry reports whether the server was only asked what it would do.
func dry(r auditlog.Request) bool {
	if strings.Contains(r.URI, "dryRun=") {
		return true
	}
	if !deletes(r) && r.Subresource != "eviction" {
		return false
	}
	o, err := optionsOf(r)
	return err == nil && slices.Contains(o.DryRun, "All")
}
