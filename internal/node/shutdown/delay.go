// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// DelayAnnotation says on a Node how long logind lets a shutdown of its machine be delayed, such as
// "5m0s". It is written on the machine, for people: nothing is decided by it.
const DelayAnnotation = "slipway.dev/shutdown-delay"

// ShortDelay is what logind should let itself be delayed for at least. In less, hardly a pod that
// takes its default grace period of 30 s to end has been replaced and has ended; logind's own
// default is 5 s.
const ShortDelay = time.Minute

// DelayOn is what a Node says of logind; known is false where it says nothing that can be read.
func DelayOn(node *corev1.Node) (delay time.Duration, known bool) {
	delay, err := time.ParseDuration(node.Annotations[DelayAnnotation])
	return delay, err == nil
}

// saysDelay says whether the Node says that.
func saysDelay(node *corev1.Node, delay time.Duration) bool {
	said, known := DelayOn(node)
	return known && said == delay
}
