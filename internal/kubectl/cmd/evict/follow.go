// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// unheeded is the time in which a controller acts on a request. It takes milliseconds.
const unheeded = 30 * time.Second

// errUnheeded means that no controller acts on requests.
var errUnheeded = fmt.Errorf("no controller has acted on the EvictionRequest for %s: this cluster has no controller for them; "+
	"'kubectl slipway install --eviction-requests' adds one", unheeded)

// follow shows the evictions until all have ended.
func (p *pursuit) follow(ctx context.Context) error {
	if p.Format == cli.Name {
		if err := p.printAsked(); err != nil {
			return err
		}
	}
	p.heeded = p.Clock.NewTimer(unheeded)
	defer p.heeded.Stop()
	err := p.cluster.ToEnd(ctx, p.Clock, follow.Scope{EvictionsIn: p.namespace}, p, nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return p.stopped(ctx, err)
	case err != nil:
		p.Clear()
		p.sayLeft()
		return err
	}
	var codes []int
	for _, name := range p.order {
		codes = append(codes, p.sayEnd(p.ended[name]))
	}
	return cli.Ending(codes)
}

// Show shows the evictions, and reports whether all have ended.
func (p *pursuit) Show(ctx context.Context, now time.Time) (over bool, err error) {
	p.Update(p.picture(p.rows(ctx), now))
	if len(p.ended) == len(p.order) {
		p.Clear()
		return true, nil
	}
	select {
	case <-p.heeded.C():
		p.heeded.Reset(unheeded)
		return false, p.unheeded(ctx)
	default:
		return false, nil
	}
}

// rows returns the states of the evictions, in the order of the command line. A final state stays.
func (p *pursuit) rows(ctx context.Context) []evictionRow {
	rows := make([]evictionRow, 0, len(p.order))
	for _, name := range p.order {
		row, over := p.ended[name]
		if !over {
			a := p.asked[name]
			row = p.row(a)
			if over = p.over(ctx, a, &row); over {
				p.ended[name] = row
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (p *pursuit) row(a *askedEviction) evictionRow {
	row := a.target().row(follow.Stored[*evictionv1alpha1.EvictionRequest](&p.Store), follow.Stored[*evictionv1alpha1.Eviction](&p.Store))
	row.Node = a.pod.Spec.NodeName
	return row
}

// watched returns the request from the watch, or nil.
func (p *pursuit) watched(a *askedEviction) *evictionv1alpha1.EvictionRequest {
	all := follow.Stored[*evictionv1alpha1.EvictionRequest](&p.Store)
	if i := slices.IndexFunc(all, func(r *evictionv1alpha1.EvictionRequest) bool { return r.UID == a.request.UID }); i >= 0 {
		return all[i]
	}
	return nil
}

// over reports whether the request has its final status, or no longer exists.
func (p *pursuit) over(ctx context.Context, a *askedEviction, row *evictionRow) bool {
	if r := p.watched(a); r != nil {
		if !acted(r) || !isFinal(r.Status.Conditions) {
			return false
		}
		row.end(r.Status.Conditions)
		return true
	}
	// It may be too new for the watch; or the garbage collector has deleted it with its pod.
	now, err := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace).Get(ctx, a.request.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && (err != nil || now.UID == a.request.UID) {
		return false
	}
	pod, err := p.clients.CoreV1().Pods(p.namespace).Get(ctx, a.pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != a.pod.UID:
		row.endAs(evicted, string(evictionv1alpha1.EvictionConditionReasonPodDeleted), "Pod "+a.pod.Name+" was deleted")
	case err != nil:
		return false
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		row.endAs(evicted, string(evictionv1alpha1.EvictionConditionReasonPodTerminal), "Pod "+a.pod.Name+" has ended")
	default:
		row.endAs(state.Canceled, "", "the EvictionRequest was deleted")
	}
	return true
}

// unheeded withdraws requests without a controller: a later controller would evict the pods.
func (p *pursuit) unheeded(ctx context.Context) error {
	if slices.ContainsFunc(follow.Stored[*evictionv1alpha1.EvictionRequest](&p.Store), acted) {
		return nil // there is a controller
	}
	var err error
	for _, name := range p.order {
		a := p.asked[name]
		if r := p.watched(a); r == nil || r.Status.ObservedGeneration != nil {
			continue
		}
		err = errUnheeded
		if !a.isNew {
			continue
		}
		if trouble := p.remove(ctx, a.request); trouble != nil {
			return errors.Join(err, trouble)
		}
		err = fmt.Errorf("%w; the request was withdrawn", errUnheeded)
	}
	return err
}

// stopped reports the evictions that continue when the command stops watching.
func (p *pursuit) stopped(ctx context.Context, err error) error {
	timedOut := cli.IsOver(ctx)
	codes := []int{cli.TimedOut}
	var left []string
	for _, name := range p.order {
		row, over := p.ended[name]
		switch {
		case over && timedOut:
			codes = append(codes, p.sayEnd(row))
		case over:
		default:
			left = append(left, name)
			if timedOut {
				row = p.row(p.asked[name])
				fmt.Fprint(p.ErrOut, row.line(p.Clock.Now()))
			}
		}
	}
	p.order = left
	if timedOut {
		p.Notef("Timed out.")
		p.sayLeft()
		return cli.Ending(codes)
	}
	p.Clear()
	p.Notef("Stopped watching.")
	p.sayLeft()
	return err
}

// sayEnd reports the end of an eviction, and returns its exit code.
func (p *pursuit) sayEnd(row evictionRow) int {
	code, text := endOfEviction(&row)
	if code != cli.Done {
		p.Notef("error: %s", text)
	} else if p.Format == cli.Human {
		p.Sayf("%s\n", text)
	}
	return code
}

// evictionChange is the state of an eviction after a change, as JSON.
type evictionChange struct {
	Time metav1.MicroTime `json:"time"`
	evictionRow
	// Ended marks the last change of the pod.
	Ended bool `json:"ended"`
}

func (p *pursuit) picture(rows []evictionRow, now time.Time) cli.Picture {
	return cli.Picture{
		Text: func(style ui.Style) string { return evictionTable(rows, style, now, false, false) },
		News: func() string { return p.changes(rows, now) },
	}
}

// changes returns a line or a JSON object for each changed eviction.
func (p *pursuit) changes(rows []evictionRow, now time.Time) (text string) {
	var changes []evictionChange
	for _, row := range rows {
		_, over := p.ended[row.Pod]
		changes = append(changes, evictionChange{evictionRow: row, Ended: over})
	}
	changed, _ := p.news.Next(changes)
	for _, c := range changed {
		switch {
		case p.Format == cli.JSON:
			c.Time = metav1.NewMicroTime(now)
			text += cli.Line(c)
		case !c.Ended: // the command reports the end itself
			text += c.line(now)
		}
	}
	return text
}
