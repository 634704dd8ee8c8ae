// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// unheeded is how long a request may be without anybody who acts on it. A controller takes
// milliseconds.
const unheeded = 30 * time.Second

// errUnheeded is that nobody acts on requests.
var errUnheeded = fmt.Errorf("nobody has acted on the EvictionRequest for %s: no controller acts on them on this cluster; "+
	"'kubectl slipway install --eviction-requests' adds one", unheeded)

// follow shows how the evictions come along, until all have ended.
func (p *evictPursuit) follow(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	b, err := watchEvictions(watching, p.clients, p.namespace)
	if err != nil {
		return err
	}
	if p.output == names {
		if err := p.printAsked(); err != nil {
			return err
		}
	}
	heeded := p.clock.NewTimer(unheeded)
	defer heeded.Stop()
	ended := map[string]evictionRow{}
	for {
		v := b.view()
		if v.refused != nil {
			p.sayLeft()
			return v.refused
		}
		rows := p.rows(ctx, v, ended)
		p.show(rows, ended, v.lost, p.clock.Now())
		if len(ended) == len(p.order) {
			p.drawn.Clear(p.Out)
			return p.sum(ended)
		}
		select {
		case <-heeded.C():
			if err := p.unheeded(ctx, v); err != nil {
				return err
			}
			heeded.Reset(unheeded)
		default:
		}
		if err := follow.Pause(ctx, p.clock, b.changed); err != nil {
			return p.stopped(ctx, rows, ended, err)
		}
	}
}

// rows are how the evictions stand, in the order in which the pods were named. Those that
// have ended stay as they were then.
func (p *evictPursuit) rows(ctx context.Context, v evictionView, ended map[string]evictionRow) []evictionRow {
	rows := make([]evictionRow, 0, len(p.order))
	for _, name := range p.order {
		row, over := ended[name]
		if !over {
			a := p.asked[name]
			row = a.target().row(v.requests, v.evictions)
			row.Node = a.pod.Spec.NodeName
			if over = p.over(ctx, a, v, &row); over {
				ended[name] = row
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// over says whether the request was told how it has ended, or is gone.
func (p *evictPursuit) over(ctx context.Context, a *askedEviction, v evictionView, row *evictionRow) bool {
	if r := v.request(a.request.UID); r != nil {
		if acted(r) && isFinal(r.Status.Conditions) {
			row.end(r.Status.Conditions)
			return true
		}
		return false
	}
	if !v.complete {
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
		row.is(evictionCanceled, "", "somebody has deleted the EvictionRequest")
	}
	return true
}

// unheeded takes back what nobody has acted on: it would evict the pod on the day when a
// controller comes.
func (p *evictPursuit) unheeded(ctx context.Context, v evictionView) error {
	if !v.complete || slices.ContainsFunc(v.requests, acted) {
		return nil // there is a controller; or it is not known yet
	}
	none, removed := false, false
	for _, name := range p.order {
		a := p.asked[name]
		if r := v.request(a.request.UID); r == nil || r.Status.ObservedGeneration != nil {
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
	p.drawn.Clear(p.Out)
	if removed {
		return fmt.Errorf("%w; the request was withdrawn", errUnheeded)
	}
	return errUnheeded
}

// stopped says what goes on without anybody who follows it.
func (p *evictPursuit) stopped(ctx context.Context, rows []evictionRow, ended map[string]evictionRow, err error) error {
	timedOut := errors.Is(context.Cause(ctx), errTimeout)
	if !timedOut {
		p.drawn.Clear(p.Out)
	}
	var left []string
	for _, name := range p.order {
		if _, over := ended[name]; !over {
			left = append(left, name)
		}
	}
	p.order = left
	if !timedOut {
		p.note("Stopped watching.")
		p.sayLeft()
		return err
	}
	codes := []int{Blocked}
	for i := range rows {
		if row, over := ended[rows[i].Pod]; over {
			codes = append(codes, p.sayEnd(row))
			continue
		}
		fmt.Fprint(p.ErrOut, rows[i].line(p.clock.Now()))
	}
	p.note("The time to wait is over.")
	p.sayLeft()
	return ending(codes)
}

// sum says how all of them have ended.
func (p *evictPursuit) sum(ended map[string]evictionRow) error {
	var codes []int
	for _, name := range p.order {
		codes = append(codes, p.sayEnd(ended[name]))
	}
	return ending(codes)
}

// sayEnd says how one has ended, and gives its exit code.
func (p *evictPursuit) sayEnd(row evictionRow) int {
	code, text := endOfEviction(&row)
	if code != Done {
		p.note("error: %s", text)
	} else if p.output == people {
		p.say(text + "\n")
	}
	return code
}

// endOfEviction is how an eviction has ended, with its exit code.
func endOfEviction(row *evictionRow) (code int, text string) {
	switch row.State {
	case evictionDone:
		return Done, "pod/" + row.Pod + " evicted"
	case evictionCanceled:
		return Canceled, "pod " + row.Pod + " is not evicted: the eviction was canceled: " + ui.Clean(row.says())
	default:
		text = "pod " + row.Pod + " is not evicted: " + ui.Clean(row.says())
		if row.Reason == string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder) {
			text += fmt.Sprintf("; 'kubectl slipway evict %s -n %s' asks again", row.Pod, row.Namespace)
		}
		return Failed, text
	}
}

// style is that of what is written to: a terminal may change its size.
func (p *evictPursuit) style() ui.Style { return ui.StyleOf(p.Out, os.Getenv) }
