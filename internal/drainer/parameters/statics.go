// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// StaticPods is what a drain may expect of a static pod, by what its Node says.
func StaticPods(node *corev1.Node, pod *corev1.Pod) drain.Removal {
	e := staticpod.Expect(node, pod)
	return drain.Removal{Left: e.Left, Able: e.Able, Trouble: e.Trouble}
}
