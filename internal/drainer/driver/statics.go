// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// drainStatics drains, and requests on the Node the removal of due static pods. It writes
// beside the drain, which continues to report meanwhile.
func (p *plugin) drainStatics(ctx context.Context, call driverkit.Call, request drain.Request, report func(driverkit.Answer)) error {
	w := &wisher{due: make(chan []string, 1), report: report}
	defer watchstore.Start(ctx, func(ctx context.Context) { p.wish(ctx, w, call) })()
	return p.drainer.Drain(ctx, request, func(s drain.Status) {
		w.add(s)
		w.answer(answer(request, cause(call.Transition), s))
	})
}

// wisher collects the static pods whose removal is due, and adds the failure of a write to the answers of the drain.
type wisher struct {
	known []drain.PodReference // the last request
	due   chan []string        // pods to write

	mu      sync.Mutex
	report  func(driverkit.Answer)
	last    driverkit.Answer
	trouble string // the cause of the last failure
}

// add receives each status of the drain, from one goroutine at a time.
func (w *wisher) add(s drain.Status) {
	if len(s.Static) == 0 || slices.Equal(s.Static, w.known) {
		return
	}
	w.known = s.Static
	var pods []string
	for _, pod := range s.Static {
		pods = append(pods, pod.String())
	}
	select {
	case older := <-w.due:
		pods = append(pods, older...)
	default:
	}
	w.due <- pods
}

// answer reports an answer of the drain.
func (w *wisher) answer(a driverkit.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = a
	w.repeat()
}

func (w *wisher) repeat() {
	a := w.last
	if w.trouble != "" {
		a.Message += "; " + w.trouble
	}
	w.report(a)
}

// fails reports the failure of a write; empty: its success.
func (w *wisher) fails(trouble string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble != trouble {
		w.trouble = trouble
		w.repeat()
	}
}

// wish writes until ctx ends.
func (p *plugin) wish(ctx context.Context, w *wisher, call driverkit.Call) {
	for {
		select {
		case <-ctx.Done():
			return
		case pods := <-w.due:
			wish := staticpod.Wish{Event: call.Event, UID: types.UID(call.EventUID), Pods: pods}
			err := persist(ctx, func(a driverkit.Answer) { w.fails(a.Message) }, func(ctx context.Context) error {
				return p.node(call.Node).WishStaticPodsAway(ctx, wish)
			})
			if err == nil {
				w.fails("")
				faultpoint.Reach(faultpoint.StaticPodsWished)
			} // otherwise ctx has ended, or the Node does not exist: the drain reports that
		}
	}
}
