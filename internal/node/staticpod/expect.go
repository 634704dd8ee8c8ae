// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	corev1 "k8s.io/api/core/v1"
)

// Expectation is what a drain may expect of a static pod.
type Expectation struct {
	// Left is why nobody is to take it away, so that the drain does not wait for it. Empty: it is
	// to go.
	Left string
	// Able: somebody on the machine takes it away when the Node wishes so.
	Able bool
	// Trouble is why it stays although it is to go.
	Trouble string
}

// Expect says by the Node what a drain may expect of a static pod there.
func Expect(node *corev1.Node, pod *corev1.Pod) Expectation {
	report := ReportedOn(node)
	switch {
	case IsControlPlane(pod.Name, pod.Labels) && (report == nil || !report.ControlPlane):
		return Expectation{Left: "the pod is of the control plane, which slipway-host leaves alone without --control-plane-static-pods"}
	case report == nil:
		return Expectation{Trouble: "no slipway-host on the machine takes static pods away"}
	}
	e := Expectation{Able: true}
	for _, t := range report.Trouble {
		if e.Trouble == "" && (t.Pod == "" || t.Pod == KeyOf(pod)) {
			e.Trouble = t.Message
		}
	}
	return e
}

// KeyOf is a mirror pod as wishes and reports name it.
func KeyOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
