// SPDX-License-Identifier: Apache-2.0

package explain

import "github.com/slipway-k8s/slipway/internal/reasons"

// Evictions by their full name: pods have a subresource that is called so too.
const (
	evictions        = "evictions.v1alpha1.lifecycle.k8s.io"
	evictionRequests = "evictionrequests.v1alpha1.lifecycle.k8s.io"
)

func tellResponder(t telling) {
	namespace, name := nameIn(t.cause.By)
	t.remedy("see how far the responder is, and wait: who gives no sign of life for 20 min loses its turn", "kubectl -n %s get %s %s -o yaml", namespace, evictions, name)
	t.remedy("or cancel the drain, which takes its requests back", "")
}

// tellUnanswered is for pods that the event says to leave to responders.
func tellUnanswered(t telling) {
	if t.cause.By == "" {
		namespace, _ := t.first()
		t.remedy("see whether their evictions are asked for, and what has become of that", "kubectl -n %s get %s -o yaml", namespace, evictionRequests)
	} else {
		namespace, name := nameIn(t.cause.By)
		t.remedy("see what has become of the Eviction", "kubectl -n %s get %s %s -o yaml", namespace, evictions, name)
	}
	t.otherMode()
}

func tellEvictionAPI(t telling) {
	t.remedy("see whether the server has Evictions", "kubectl api-resources --api-group=lifecycle.k8s.io")
	t.otherMode()
}

func (t telling) otherMode() {
	if entry, ok := reasons.Lookup(t.cause.Place, t.cause.Code); ok {
		t.remedy(entry.Helps, "")
	}
	t.remedy("or let the drain evict pods to which nobody comes, within their budgets",
		`kubectl patch lifecycleevent %s --type=merge -p '{"spec":{"parameters":{"mode":"Auto"}}}'`, t.event.Name)
}
