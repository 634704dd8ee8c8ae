// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"time"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/responderkit"
)

// say makes of what holds a pod up what is said about it in the Eviction.
func say(p drain.PodProgress) responderkit.Progress {
	said := responderkit.Progress{Message: "evicting the pod", ExpectedCompletion: p.Ends}
	switch {
	case p.Blocker.Reason != "":
		said.Message = "waiting: " + p.Blocker.Message
	case !p.Ends.IsZero():
		said.Message = "the pod is ending; its grace period is over at " + p.Ends.UTC().Format(time.RFC3339)
	}
	return said
}
