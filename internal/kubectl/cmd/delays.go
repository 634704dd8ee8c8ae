// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// shortDelays tells of the nodes whose machines hardly wait for their drains when they are shut
// down, although slipway-host holds them; nothing, where there is none. Nobody else would tell
// before one goes down half drained. named are those that are asked about; nil: all.
func shortDelays(nodes []*corev1.Node, named []string) string {
	const most = 5
	var short []string
	for _, node := range nodes {
		delay, known := shutdown.DelayOn(node)
		if known && delay < shutdown.ShortDelay && (named == nil || slices.Contains(named, node.Name)) {
			short = append(short, fmt.Sprintf("%s (%s)", node.Name, delay))
		}
	}
	if len(short) == 0 {
		return ""
	}
	slices.Sort(short)
	text := strings.Join(short[:min(len(short), most)], ", ")
	if more := len(short) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return fmt.Sprintf("\nMachines that go down half drained, because logind lets a shutdown be delayed for less than %s there:\n  %s\n"+
		"What helps (InhibitDelayMaxSec), says docs/how-to/shutdown.md.\n", shutdown.ShortDelay, text)
}
