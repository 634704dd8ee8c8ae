// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// pursuit asks for events and follows them to their end.
type pursuit struct {
	*tool
	cluster cluster
	asker   asker
	wanted  []*lifecyclev1alpha1.LifecycleEvent

	// verb is what is done to the nodes, when it is done: drained, uncordoned.
	verb   string
	output format
	// timeout is how long to wait; 0 is without limit. It is the events' deadline as well,
	// if byTimeout.
	timeout   time.Duration
	byTimeout bool

	asked   map[string]asked                       // by the event's name
	refused map[string][]lifecyclev1alpha1.Blocker // by the event's name
	// trouble is why the last withdrawal failed.
	trouble string
}

// errTimeout is why a wait ends.
var errTimeout = errors.New("the time to wait is over")

// margin is what an event's deadline may be later than ours, by which it is to end: it
// counts from the claim, and in whole seconds.
const margin = 10 * time.Second

// begin creates the events and says so, for who does not wait. If one cannot be created, it
// says which were.
func (p *pursuit) begin(ctx context.Context, dry dryRun) error {
	asking := p.askAll(ctx, nil)
	if len(p.asked) == 0 {
		return asking
	}
	if err := p.printAsked(dry); err != nil {
		return errors.Join(asking, err)
	}
	if dry == dryRunNone && (p.output == people || asking != nil) {
		p.sayHow(p.asFarAsBegun("It goes on in the cluster."), p.goingOn())
	}
	return asking
}

// printAsked prints the events that were created or found.
func (p *pursuit) printAsked(dry dryRun) error {
	var events []*lifecyclev1alpha1.LifecycleEvent
	for _, event := range p.wanted {
		if got, known := p.asked[event.Name]; known {
			events = append(events, got.event)
		}
	}
	if p.output != people {
		return p.printEvents(p.cluster, p.output, events)
	}
	for _, event := range events {
		done := "created"
		switch got := p.asked[event.Name]; {
		case got.instead != nil:
			done = "created, when " + over(got.instead) + " is gone"
		case !got.ours:
			done = "goes on already"
		}
		p.say(fmt.Sprintf("%s %s%s\n", p.cluster.resourceName(event.Name), done, dry.suffix()))
	}
	return nil
}

// follow creates the events and watches until they have ended.
func (p *pursuit) follow(ctx context.Context) error {
	if p.timeout > 0 {
		limit := p.timeout
		if p.byTimeout {
			limit += margin
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimeout)
		defer cancel()
	}
	var followed []progress.Asked
	for _, event := range p.wanted {
		followed = append(followed, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name, Expected: true})
	}
	f := follow.New(p.cluster.watched(), p.screen(), p.clock, followed...)
	f.OnRefusal = p.onRefusal
	told, err := f.Follow(ctx, func(ctx context.Context) error { return p.askAll(ctx, f.Expect) })
	switch {
	case errors.Is(context.Cause(ctx), errTimeout) && err != nil:
		return p.timedOut(context.WithoutCancel(ctx), told)
	case err != nil:
		p.stopped(told, err)
		return err
	}
	return p.sum(told)
}

// stopped says what goes on without anybody who follows it.
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
	if !errors.Is(err, context.Canceled) && p.output == people {
		_ = p.printAsked(dryRunNone) // only for programs it can fail
	}
	p.sayHow(p.asFarAsBegun("Stopped watching. It goes on in the cluster."), nodes)
}

// asFarAsBegun is what goes on where not all could be asked for, or else a text.
func (p *pursuit) asFarAsBegun(all string) string {
	if len(p.asked) < len(p.wanted) {
		return fmt.Sprintf("%d of %d were asked for. That goes on in the cluster.", len(p.asked), len(p.wanted))
	}
	return all
}

// askAll creates the events one after the other, or finds them.
func (p *pursuit) askAll(ctx context.Context, expect func(*lifecyclev1alpha1.LifecycleEvent)) error {
	p.asked = map[string]asked{}
	for _, event := range p.wanted {
		got, err := p.asker.ask(ctx, event)
		if err != nil {
			return err
		}
		p.asked[event.Name] = got
		if !got.ours && expect != nil {
			fmt.Fprintf(p.ErrOut, "%s goes on already.\n", whose(got.event))
		}
		if expect != nil {
			if p.output == names {
				fmt.Fprintln(p.Out, p.cluster.resourceName(event.Name))
			}
			expect(got.event)
		}
	}
	return nil
}

// onRefusal withdraws a drain that kubectl would not have begun. That of somebody else is
// theirs. Why that fails is said once.
func (p *pursuit) onRefusal(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent, pods []lifecyclev1alpha1.Blocker) (done bool) {
	if got := p.asked[event.Name]; !got.ours {
		return true
	}
	if err := p.asker.withdraw(ctx, event); err != nil {
		if text := err.Error(); text != p.trouble {
			fmt.Fprintf(p.ErrOut, "Could not withdraw the drain, and tries again: %v\n", err)
			p.trouble = text
		}
		return false
	}
	p.refused[event.Name] = pods
	return true
}

// sum says how all of them have ended.
func (p *pursuit) sum(told *progress.Model) error {
	var codes []int
	for _, s := range told.All() {
		codes = append(codes, p.sayEnd(s))
	}
	return ending(codes)
}

// sayEnd says how one has ended, and gives its exit code.
func (p *pursuit) sayEnd(s *progress.Item) int {
	v := judge(s, p.verb, p.refused[s.Name()], p.byTimeout)
	if v.done != "" && p.output == people {
		p.say(v.done)
	}
	if v.wrong != "" {
		fmt.Fprintln(p.ErrOut, "error:", v.wrong)
	}
	return v.code
}

func ending(codes []int) error {
	if code := worst(codes); code != Done {
		return exit{code: code}
	}
	return nil
}

// sayHow says how to look at what goes on, and how to end it.
func (p *pursuit) sayHow(what string, nodes []string) {
	all := strings.Join(nodes, " ")
	fmt.Fprintf(p.ErrOut, "%s\n  kubectl slipway status -w %s   shows it\n  kubectl slipway cancel %s      cancels it\n", what, all, all)
}

// screen is what the output asks for.
func (p *pursuit) screen() follow.Screen {
	style := func() ui.Style { return ui.StyleOf(p.Out, os.Getenv) }
	switch {
	case p.output == jsonText:
		return &follow.Objects{Out: p.Out}
	case p.output == names:
		return follow.Nothing{}
	case style().Terminal:
		return &follow.Terminal{Out: p.Out, Style: style, Steps: true}
	default:
		return &follow.Lines{Out: p.Out}
	}
}

// goingOn are the nodes whose events were created or found, but for those that have ended.
func (p *pursuit) goingOn(ended ...string) []string {
	var all []string
	for _, event := range p.wanted {
		if _, known := p.asked[event.Name]; known && !slices.Contains(ended, event.Name) {
			all = append(all, event.Spec.BindingNode)
		}
	}
	return all
}
