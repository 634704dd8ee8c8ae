// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// drainStatics drains, and has the Node wish static pods away when it is their turn. It writes
// beside the drain, which goes on reporting meanwhile.
func (p *plugin) drainStatics(ctx context.Context, call driverkit.Call, request drain.Request, report func(driverkit.Answer)) error {
	wishing, stop := context.WithCancel(ctx)
	w := &wisher{due: make(chan []string, 1), report: report}
	var writer sync.WaitGroup
	writer.Go(func() { p.wish(wishing, w, call) })
	defer writer.Wait()
	defer stop()
	return p.drainer.Drain(ctx, request, func(s drain.Status) {
		w.tell(s)
		w.say(answer(request, s))
	})
}

// wisher is what a drain wants to be wished.
type wisher struct {
	told []drain.PodReference // last
	due  chan []string        // the newest that is not written yet

	mu      sync.Mutex
	report  func(driverkit.Answer)
	last    driverkit.Answer
	trouble string // why it could not be written
}

// tell is called with each status of the drain, from one goroutine at a time.
func (w *wisher) tell(s drain.Status) {
	if len(s.Static) == 0 || slices.Equal(s.Static, w.told) {
		return
	}
	w.told = s.Static
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

// say reports what the drain says, and why it could not be written what it wants.
func (w *wisher) say(a driverkit.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = a
	w.sayLast()
}

func (w *wisher) sayLast() {
	a := w.last
	if w.trouble != "" {
		a.Message += "; " + w.trouble
	}
	w.report(a)
}

// fails reports why it could not be written; empty: it was.
func (w *wisher) fails(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble != why {
		w.trouble = why
		w.sayLast()
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
			} // else ctx has ended, or there is no Node: the drain says that
		}
	}
}
