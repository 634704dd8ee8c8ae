// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

const (
	// maxCoreEvents is how many core Events of one object are told.
	maxCoreEvents = 100
	// maxEvents is of how many LifecycleEvents the core Events are read.
	maxEvents = 10
)

// coreEvents reads what was told of the node, and of its events.
func (r *Reader) coreEvents(ctx context.Context, n *notes, f *explain.Facts) {
	f.CoreEvents = r.toldOf(ctx, n, "Node", f.NodeName)
	for _, e := range f.Events[:min(len(f.Events), maxEvents)] {
		f.CoreEvents = append(f.CoreEvents, r.toldOf(ctx, n, "LifecycleEvent", e.Name)...)
	}
	if more := len(f.Events) - maxEvents; more > 0 {
		n.partly(explain.CoreEvents, "those of the Node and of %d LifecycleEvents were read, and not those of %d more", maxEvents, more)
	}
}

// toldOf are the newest core Events of an object. Those of cluster-scoped objects are in
// the default namespace. The server lists them by name, so all are read to know the newest.
func (r *Reader) toldOf(ctx context.Context, n *notes, kind, name string) []corev1.Event {
	var all []corev1.Event
	left, err := firstPages(ctx, r.client, maxPages, func(page *corev1.EventList) { all = append(all, page.Items...) },
		client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"involvedObject.kind": kind, "involvedObject.name": name})
	n.note(explain.CoreEvents, err)
	older := len(all) - maxCoreEvents
	switch {
	case left:
		n.partly(explain.CoreEvents, "there are more than %d of %s %s, and the others were not read; the newest may be among them", len(all), kind, name)
	case older > 0:
		n.partly(explain.CoreEvents, "of the %d of %s %s, the newest %d are told", len(all), kind, name, maxCoreEvents)
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int { return explain.LastTold(a).Compare(explain.LastTold(b).Time) })
	return all[max(older, 0):]
}

// partly notes what was read in part, once for each kind.
func (n *notes) partly(kind explain.Kind, format string, args ...any) {
	if !n.lacks(kind) {
		n.unread = append(n.unread, explain.Unread{Kind: kind, Why: fmt.Sprintf(format, args...)})
	}
}
