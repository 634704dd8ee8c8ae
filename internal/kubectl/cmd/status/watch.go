// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// statusWatch shows the overview at each change.
type statusWatch struct {
	cli.Live
	named       []string
	nodesUnread bool
	news        cli.News[nodeStatus]
}

func newStatusWatch(t *cli.Tool, f cli.Format, named []string) *statusWatch {
	return &statusWatch{
		Live: cli.Live{Tool: t, Format: f}, named: named,
		news: cli.News[nodeStatus]{Key: func(s *nodeStatus) string { return s.Node + "/" + s.Event }},
	}
}

// watchStatus shows the overview until ctx ends.
func watchStatus(ctx context.Context, t *cli.Tool, c cli.Cluster, f cli.Format, named []string) error {
	w := newStatusWatch(t, f, named)
	return c.Watched().ToEnd(ctx, t.Clock, follow.Scope{Nodes: true, Holds: true}, w, func(_ context.Context, seen follow.Scope) error {
		if w.nodesUnread = !seen.Nodes; w.nodesUnread {
			t.Notef("You may not list Nodes, so %s.", nodesUnread)
		}
		return nil
	})
}

// Show shows the nodes. The watch has no end.
func (w *statusWatch) Show(_ context.Context, now time.Time) (over bool, err error) {
	w.Update(w.picture(overview(facts{
		follow.Stored[*corev1.Node](&w.Store), follow.Stored[*lifecyclev1alpha1.LifecycleEvent](&w.Store), follow.Stored[*slipwayv1alpha1.NodeHold](&w.Store),
	}, w.named), now))
	return false, nil
}

func (w *statusWatch) picture(all []nodeStatus, now time.Time) cli.Picture {
	return cli.Picture{
		Text: func(style ui.Style) string { return statusTable(all, style, now, w.Format == cli.Wide, w.nodesUnread) },
		News: func() string { return w.changes(all, now) },
	}
}

// changes returns a line or a JSON object for each changed node.
func (w *statusWatch) changes(all []nodeStatus, now time.Time) (text string) {
	entry := func(s nodeStatus) {
		if w.Format == cli.JSON {
			text += cli.Line(s)
		} else {
			text += s.line(now)
		}
	}
	changed, gone := w.news.Next(all)
	for _, s := range changed {
		entry(s)
	}
	for _, before := range gone {
		if before.Event != "" {
			entry(nodeStatus{Node: before.Node, Event: before.Event, State: state.Gone})
		}
		if !slices.ContainsFunc(all, func(s nodeStatus) bool { return s.Node == before.Node }) {
			entry(nodeStatus{Node: before.Node, State: "no longer in maintenance"})
		}
	}
	return text
}
