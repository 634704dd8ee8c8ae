// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

const onlyResponders = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","mode":"EvictionRequest"}`

// hasEviction creates the Eviction of the scene's pod, which is called after its app, as a controller would.
func (s *scene) hasEviction(status string) {
	s.Helper()
	s.apply(`{apiVersion: lifecycle.k8s.io/v1alpha1, kind: Eviction, metadata: {name: APP, namespace: default}, spec: {target: {pod: {name: POD, uid: ` + string(s.pod.UID) + `}}}}`)
	s.kubectl(`patch evictions.v1alpha1.lifecycle.k8s.io APP --subresource=status --type=merge -p '{"status":%s}'`, status)
}

// isLeft begins a drain that leaves all pods, and waits until it names the scene's.
func (s *scene) isLeft() {
	s.Helper()
	s.hasPod()
	s.drain(harness.RawParameters(onlyResponders))
	s.env.AwaitEvent(s.T, s.event, "names the pod that it leaves", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return len(e.Status.LeftToResponders) == 1 && e.Status.LeftToResponders[0].UID == s.pod.UID
	})
}

// They change what the whole cluster serves, so they run alone, and one after the other.
func TestExplainNamesWhoIsToRespond(t *testing.T) {
	const auto = "patch lifecycleevent"
	t.Run("without the API", func(t *testing.T) {
		trouble{
			begin: func(s *scene) {
				s.hasPod()
				s.drain(harness.RawParameters(onlyResponders))
				s.awaitBlocker("EvictionAPIMissing")
			},
			object: ofPod, run: auto,
		}.test(t, "EvictionAPIMissing")
	})
	env := harness.Shared(t)
	t.Cleanup(func() {
		(&scene{T: t, env: env}).tidy("", "delete", "--ignore-not-found", "crd", "evictions.lifecycle.k8s.io", "evictionrequests.lifecycle.k8s.io")
	})
	if err := env.InstallEvictions(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tr := range map[string]trouble{
		"AwaitingResponder": {
			begin: func(s *scene) {
				s.isLeft()
				s.hasEviction(`{"targetResponders":[{"name":"example.com/backup","priority":20000,"state":"Active"}],"responders":[{"name":"example.com/backup","startTime":"` + time.Now().UTC().Format(time.RFC3339) + `"}]}`)
				s.awaitBlocker("AwaitingResponder")
			},
			object: ofPod, by: "Eviction default/APP",
			act: func(s *scene) { s.kubectl("delete pod POD --wait=false") }, // as the responder does
		},
		"ResponderMissing": {
			begin:  func(s *scene) { s.isLeft(); s.awaitBlocker("ResponderMissing") },
			object: ofPod, run: auto,
		},
		"RespondersFailed": {
			begin: func(s *scene) {
				s.isLeft()
				s.hasEviction(`{"conditions":[{"type":"Failed","status":"True","reason":"NoFurtherResponder","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`)
				s.awaitBlocker("RespondersFailed")
			},
			object: ofPod, by: "Eviction default/APP", run: auto,
		},
	} {
		t.Run(name, func(t *testing.T) { tr.test(t, name) })
	}
}
