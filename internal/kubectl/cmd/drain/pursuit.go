// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// pursuit requests LifecycleEvents and follows them to their end.
type pursuit struct {
	*cli.Tool
	*cli.Waiting
	cluster   cli.Cluster
	requester requester
	wanted    []*lifecyclev1alpha1.LifecycleEvent

	// verb is the result for the nodes: drained or uncordoned.
	verb string
	// byTimeout means that the timeout is the deadline of the events as well.
	byTimeout bool

	asked   map[string]asked                       // by the event's name
	refused map[string][]lifecyclev1alpha1.Blocker // by the event's name
	// trouble is the error of the last withdrawal.
	trouble string
}

// The verbs of a pursuit.
const (
	drained    = "drained"
	uncordoned = "uncordoned"
)

// margin allows for the difference between the timeout and the deadline of an event, which counts from
// the claim, and in whole seconds.
const margin = 10 * time.Second

// newPursuit finds the cluster and the nodes.
func newPursuit(ctx context.Context, t *cli.Tool, choice *cli.Nodes, w *cli.Waiting) (*pursuit, []string, error) {
	c, reader, err := t.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := t.Find(ctx, reader, choice)
	return &pursuit{
		Tool: t, Waiting: w, cluster: c, requester: requester{client: reader, notes: t.ErrOut, dry: w.DryRun == cli.DryRunServer},
		asked: map[string]asked{}, refused: map[string][]lifecyclev1alpha1.Blocker{},
	}, nodes, err
}

// run sends the requests, and follows them if the flags require it.
func (p *pursuit) run(ctx context.Context) error {
	if p.DryRun == cli.DryRunClient {
		for _, event := range p.wanted {
			p.asked[event.Name] = asked{event: event, isNew: true}
		}
		return p.printAsked()
	}
	if err := p.requester.conflicts(ctx, p.wanted); err != nil {
		return err
	}
	if p.Follows() {
		return p.follow(ctx)
	}
	return p.begin(ctx)
}

// begin creates the events without waiting for them. If one cannot be created, it prints which
// ones were.
func (p *pursuit) begin(ctx context.Context) error {
	asking := p.askAll(ctx, nil)
	if len(p.asked) == 0 {
		return asking
	}
	if err := p.printAsked(); err != nil {
		return errors.Join(asking, err)
	}
	if p.DryRun == cli.DryRunNone && (p.Format == cli.Human || asking != nil) {
		p.sayHow(p.asFarAsBegun("It continues in the cluster."), p.goingOn())
	}
	return asking
}

// printAsked prints the created or found events: one as an object, several as a list.
func (p *pursuit) printAsked() error {
	var events []*lifecyclev1alpha1.LifecycleEvent
	var names []string
	text := ""
	for _, event := range p.wanted {
		got, known := p.asked[event.Name]
		if !known {
			continue
		}
		name := p.cluster.ResourceName(event.Name)
		event = got.event.DeepCopy()
		event.SetGroupVersionKind(p.cluster.Home.GroupVersion().WithKind("LifecycleEvent"))
		event.ManagedFields = nil
		names, events, text = append(names, name), append(events, event), text+name+" "+got.done()+p.DryRun.Suffix()+"\n"
	}
	return p.Print(p.Output, cli.View{Value: cli.OneOrList(events), Names: names, Text: func(ui.Style, bool) string { return ui.CleanLines(text) }})
}

// follow creates the events and watches until they have ended.
func (p *pursuit) follow(ctx context.Context) error {
	limit := p.Timeout
	if p.byTimeout {
		limit += margin
	}
	ctx, stop := cli.Within(ctx, limit)
	defer stop()
	var followed []progress.Asked
	for _, event := range p.wanted {
		followed = append(followed, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name, Expected: true})
	}
	f := follow.New(p.cluster.Watched(), p.screen(), p.Clock, followed...)
	f.OnRefusal, f.OnDenied = p.onRefusal, p.onDenied
	told, err := f.Follow(ctx, func(ctx context.Context) error { return p.askAll(ctx, f.Expect) })
	switch {
	case err != nil && cli.IsOver(ctx):
		return p.timedOut(context.WithoutCancel(ctx), told)
	case err != nil:
		p.stopped(told, err)
		return err
	}
	return p.sum(told)
}

// stopped lists the nodes whose events continue when the command stops watching.
func (p *pursuit) stopped(told *progress.Model, err error) {
	var ended []string
	for _, s := range told.All() {
		if s.Ended() {
			ended = append(ended, s.Name())
		}
	}
	nodes := p.goingOn(ended...)
	if len(nodes) == 0 {
		return
	}
	if !errors.Is(err, context.Canceled) && p.Format == cli.Human {
		_ = p.printAsked() // only for programs it can fail
	}
	p.sayHow(p.asFarAsBegun("Stopped watching. It continues in the cluster."), nodes)
}

// asFarAsBegun returns the text, or, after an error, the number of sent requests.
func (p *pursuit) asFarAsBegun(all string) string {
	if len(p.asked) < len(p.wanted) {
		return fmt.Sprintf("%d of %d requests were sent. These continue in the cluster.", len(p.asked), len(p.wanted))
	}
	return all
}

// askAll creates the events one after the other, or finds them.
func (p *pursuit) askAll(ctx context.Context, expect func(*lifecyclev1alpha1.LifecycleEvent)) error {
	for _, event := range p.wanted {
		got, err := p.requester.ask(ctx, event)
		if err != nil {
			return err
		}
		p.asked[event.Name] = got
		if expect == nil {
			continue
		}
		if !got.isNew {
			p.Notef("%s exists already.", whose(got.event))
		}
		if p.Format == cli.Name {
			p.Sayf("%s\n", p.cluster.ResourceName(event.Name))
		}
		expect(got.event)
	}
	return nil
}

// onRefusal withdraws a drain that kubectl would not have begun, if this command has created it.
func (p *pursuit) onRefusal(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent, pods []lifecyclev1alpha1.Blocker) (done bool) {
	if got := p.asked[event.Name]; !got.isNew {
		return true
	}
	if err := p.requester.withdraw(ctx, event); err != nil {
		if text := err.Error(); text != p.trouble {
			p.Notef("Could not withdraw the drain, and tries again: %v", err)
			p.trouble = text
		}
		return false
	}
	p.refused[event.Name] = pods
	return true
}

// onDenied warns about an eviction that admission denies: kubectl drain would end here with an error.
func (p *pursuit) onDenied(node string, b lifecyclev1alpha1.Blocker) {
	p.Notef("warning: node %s: the API server refuses the eviction of %s: %s. The drain tries again until its deadline; to end it, run 'kubectl slipway cancel %s'",
		node, ui.Clean(b.Object), strings.TrimSuffix(ui.Clean(b.Message), "."), node)
}

// sum reports the ends of all events.
func (p *pursuit) sum(told *progress.Model) error {
	var codes []int
	for _, s := range told.All() {
		codes = append(codes, p.sayEnd(s))
	}
	return cli.Ending(codes)
}

// sayEnd reports the end of an event, and returns its exit code.
func (p *pursuit) sayEnd(s *progress.Item) int {
	v := judge(s, p.verb, p.refused[s.Name()], p.byTimeout)
	if v.done != "" && p.Format == cli.Human {
		p.Sayf("%s", v.done)
	}
	if v.wrong != "" {
		p.Notef("error: %s", v.wrong)
	}
	return v.code
}

// timedOut reports the ended events, and the events in progress.
func (p *pursuit) timedOut(ctx context.Context, told *progress.Model) error {
	var codes []int
	var left []string
	for _, s := range told.All() {
		if s.Ended() {
			codes = append(codes, p.sayEnd(s))
			continue
		}
		code, goesOn := p.leave(ctx, s)
		if goesOn {
			left = append(left, s.Node())
		}
		codes = append(codes, code)
	}
	for _, entry := range told.Still(p.Clock.Now()) {
		if len(left) > 0 && (entry.Node == "" || slices.Contains(left, entry.Node)) {
			p.Notef("%s", entry.Line())
		}
	}
	if len(left) > 0 {
		goesOn := "It continues in the cluster."
		if p.byTimeout {
			goesOn = "In the cluster, it continues until its deadline."
		}
		p.sayHow("Timed out. "+goesOn, left)
	}
	return cli.Ending(codes)
}

// leave ends the watch of an event, and reports whether the event continues. An event that is not claimed
// is withdrawn, if the timeout is its deadline: kubectl drain does nothing after its timeout.
func (p *pursuit) leave(ctx context.Context, s *progress.Item) (code int, goesOn bool) {
	got, known := p.asked[s.Name()]
	event := s.Event()
	switch {
	case !known || event == nil:
		p.Notef("error: node %s is not %s: timed out before the request was sent", s.Node(), p.verb)
		return cli.TimedOut, false
	case !p.byTimeout || !got.isNew || event.Status.ClaimStatus == lifecyclev1alpha1.Claimed:
		return cli.TimedOut, true
	}
	if err := p.requester.withdraw(ctx, event); err != nil {
		p.Notef("error: node %s is not %s: its event was not claimed in time, and could not be withdrawn: %v", s.Node(), p.verb, err)
		return cli.Error, true
	}
	text := "its event was not claimed in time, and was withdrawn"
	if wait := state.WaitOf(event); wait.Reason != "" {
		text += ". " + ui.Clean(wait.String())
	}
	p.Notef("error: node %s is not %s: %s", s.Node(), p.verb, text)
	return cli.TimedOut, false
}

// sayHow adds the commands that show and cancel the events.
func (p *pursuit) sayHow(what string, nodes []string) {
	all := strings.Join(nodes, " ")
	p.Notef("%s\n  kubectl slipway status -w %s   shows it\n  kubectl slipway cancel %s      cancels it", what, all, all)
}

// screen returns the screen of the output format.
func (p *pursuit) screen() *follow.Screen {
	s := &follow.Screen{Manner: follow.Lines, Out: p.Out, Style: p.Style}
	switch {
	case p.Format == cli.JSON:
		s.Manner = follow.Objects
	case p.Format == cli.Name:
		s.Manner = follow.Nothing
	case p.Style().Terminal:
		s.Manner = follow.Terminal
	}
	return s
}

// goingOn returns the nodes whose events were created or found, without those that have ended.
func (p *pursuit) goingOn(ended ...string) []string {
	var all []string
	for _, event := range p.wanted {
		if _, known := p.asked[event.Name]; known && !slices.Contains(ended, event.Name) {
			all = append(all, event.Spec.BindingNode)
		}
	}
	return all
}
