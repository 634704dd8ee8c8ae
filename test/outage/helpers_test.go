// SPDX-License-Identifier: Apache-2.0

package outage

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/test/harness"
)

// coreEvents returns the interesting ones of the present core Events.
func coreEvents(t *testing.T, e *harness.Env, interesting func(corev1.Event) bool) []corev1.Event {
	t.Helper()
	var list corev1.EventList
	if err := e.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return !interesting(e) })
}
