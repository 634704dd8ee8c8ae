// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Outage stops a component of the control plane for so long, and returns when it is
// well again. It calls during when the component is away.
func (e *Env) Outage(t *testing.T, component string, length time.Duration, during func()) {
	t.Helper()
	if err := e.Stop(t.Context(), component); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(length)
	during()
	AwaitTime(t, until)
	if err := e.Start(t.Context(), component); err != nil {
		t.Fatal(err)
	}
}

// CoreEvents are the core Events that are there now and of interest.
func (e *Env) CoreEvents(t *testing.T, interesting func(corev1.Event) bool) []corev1.Event {
	t.Helper()
	var list corev1.EventList
	if err := e.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return !interesting(e) })
}
