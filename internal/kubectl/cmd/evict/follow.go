// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// unheeded is how long a request may exist before a controller acts on it. It takes milliseconds.
const unheeded = 30 * time.Second

// errUnheeded means that no controller acts on requests.
var errUnheeded = fmt.Errorf("nothing has acted on the EvictionRequest for %s: no controller acts on them on this cluster; "+
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
	return p.sum()
}

// Show shows the evictions, and says whether all have ended.
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

// rows returns the states of the evictions, in the order in which the pods were named. Those that
// have ended stay as they were then.
func (p *pursuit) rows(ctx context.Context) []evictionRow {
	requests, evictions := p.stored()
	rows := make([]evictionRow, 0, len(p.order))
	for _, name := range p.order {
		row, over := p.ended[name]
		if !over {
			a := p.asked[name]
			row = a.target().row(requests, evictions)
			row.Node = a.pod.Spec.NodeName
			if over = p.over(ctx, a, requests, &row); over {
				p.ended[name] = row
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// stored returns what the watches have shown.
func (p *pursuit) stored() ([]*evictionv1alpha1.EvictionRequest, []*evictionv1alpha1.Eviction) {
	return follow.Stored[*evictionv1alpha1.EvictionRequest](&p.Store), follow.Stored[*evictionv1alpha1.Eviction](&p.Store)
}

// requestOf returns the EvictionRequest of a UID, or nil.
func requestOf(all []*evictionv1alpha1.EvictionRequest, uid types.UID) *evictionv1alpha1.EvictionRequest {
	if i := slices.IndexFunc(all, func(r *evictionv1alpha1.EvictionRequest) bool { return r.UID == uid }); i >= 0 {
		return all[i]
	}
	return nil
}

// over says whether the request has its final status, or is gone.
func (p *pursuit) over(ctx context.Context, a *askedEviction, requests []*evictionv1alpha1.EvictionRequest, row *evictionRow) bool {
	if r := requestOf(requests, a.request.UID); r != nil {
		if acted(r) && isFinal(r.Status.Conditions) {
			row.end(r.Status.Conditions)
			return true
		}
		return false
	}
	// It may be too new for the watch; or it has gone with its pod.
	now, err := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace).Get(ctx, a.request.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && (err != nil || now.UID == a.request.UID) {
		return false
	}
	pod, err := p.clients.CoreV1().Pods(p.namespace).Get(ctx, a.pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != a.pod.UID:
		row.is(evictionDone, string(evictionv1alpha1.EvictionConditionReasonPodDeleted), "Pod "+a.pod.Name+" is gone")
	case err != nil:
		return false
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		row.is(evictionDone, string(evictionv1alpha1.EvictionConditionReasonPodTerminal), "Pod "+a.pod.Name+" has ended")
	default:
		row.is(evictionCanceled, "", "the EvictionRequest was deleted")
	}
	return true
}

// unheeded withdraws requests that nothing acts on: a controller that is installed later would
// evict the pods.
func (p *pursuit) unheeded(ctx context.Context) error {
	requests, _ := p.stored()
	if slices.ContainsFunc(requests, acted) {
		return nil // there is a controller
	}
	none, removed := false, false
	for _, name := range p.order {
		a := p.asked[name]
		if r := requestOf(requests, a.request.UID); r == nil || r.Status.ObservedGeneration != nil {
			continue
		}
		none, removed = true, removed || a.ours
		if !a.ours {
			continue
		}
		if err := p.remove(ctx, a.request); err != nil {
			return errors.Join(errUnheeded, err)
		}
	}
	if !none {
		return nil
	}
	if removed {
		return fmt.Errorf("%w; the request was withdrawn", errUnheeded)
	}
	return errUnheeded
}

// stopped says what goes on when the command stops watching.
func (p *pursuit) stopped(ctx context.Context, err error) error {
	timedOut := cli.IsOver(ctx)
	requests, evictions := p.stored()
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
				row = p.asked[name].target().row(requests, evictions)
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

// sum reports how all of them have ended.
func (p *pursuit) sum() error {
	var codes []int
	for _, name := range p.order {
		codes = append(codes, p.sayEnd(p.ended[name]))
	}
	return cli.Ending(codes)
}

// sayEnd reports how one has ended, and returns its exit code.
func (p *pursuit) sayEnd(row evictionRow) int {
	code, text := endOfEviction(&row)
	if code != cli.Done {
		p.Notef("error: %s", text)
	} else if p.Format == cli.Human {
		p.Sayf("%s", text+"\n")
	}
	return code
}

// endOfEviction returns the exit code of an eviction that has ended, and its text.
func endOfEviction(row *evictionRow) (code int, text string) {
	switch row.State {
	case evictionDone:
		return cli.Done, "pod/" + row.Pod + " evicted"
	case evictionCanceled:
		return cli.Canceled, "pod " + row.Pod + " is not evicted: the eviction was canceled: " + ui.Clean(row.says())
	default:
		text = "pod " + row.Pod + " is not evicted: " + ui.Clean(row.says())
		if row.Reason == string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder) {
			text += fmt.Sprintf("; 'kubectl slipway evict %s -n %s' requests it again", row.Pod, row.Namespace)
		}
		return cli.Failed, text
	}
}

// evictionChange is the state of an eviction after a change, for programs.
type evictionChange struct {
	Time metav1.MicroTime `json:"time"`
	evictionRow
	// Ended says that this is the last change of the pod.
	Ended bool `json:"ended"`
}

func (p *pursuit) picture(rows []evictionRow, now time.Time) cli.Picture {
	return cli.Picture{
		Text: func(style ui.Style) string { return evictionTable(rows, style, now, false, false) },
		News: func() string { return p.changes(rows, now) },
	}
}

// changes are the evictions that have changed, one line or JSON object each.
func (p *pursuit) changes(rows []evictionRow, now time.Time) string {
	var changes []evictionChange
	for _, row := range rows {
		_, over := p.ended[row.Pod]
		changes = append(changes, evictionChange{evictionRow: row, Ended: over})
	}
	var text strings.Builder
	changed, _ := p.news.Of(changes)
	for _, c := range changed {
		switch {
		case p.Format == cli.JSON:
			c.Time = metav1.NewMicroTime(now)
			text.WriteString(cli.Line(c))
		case !c.Ended: // the end is reported at last
			text.WriteString(c.line(now))
		}
	}
	return text.String()
}
