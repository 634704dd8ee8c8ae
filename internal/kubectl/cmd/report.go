// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// maxObjects is how many of the objects of a cause are named.
const maxObjects = 4

// reportPrinter prints a report for people, and keeps the first error of the writer.
type reportPrinter struct {
	out   io.Writer
	style ui.Style
	now   time.Time
	err   error
}

func printReport(out io.Writer, style ui.Style, r explain.Report, now time.Time) error {
	p := &reportPrinter{out: out, style: style, now: now}
	p.text(toneOf(r), "", r.Headline)
	for i, c := range r.Causes {
		p.cause(fmt.Sprintf("%d. ", i+1), c)
	}
	if r.Unlisted > 0 {
		p.section(fmt.Sprintf("%d more things hold it up: the status has no room for them.", r.Unlisted))
	}
	if len(r.Next) > 0 {
		p.section("What you can do:")
		p.remedies(r.Next)
	}
	if len(r.History) > 0 {
		p.section("What has happened:")
		for _, m := range r.History {
			p.text(ui.Plain, "   "+m.Time.UTC().Format(time.RFC3339)+"  ", m.Text)
		}
	}
	if len(r.Unread) > 0 {
		p.section("What could not be read, so that there may be more to say:")
		for _, u := range r.Unread {
			p.text(ui.Faint, "   - ", fmt.Sprintf("%s: %s", u.Kind, u.Why))
		}
	}
	return p.err
}

// toneOf is the color of the headline.
func toneOf(r explain.Report) ui.Tone {
	if r.HeldUp() {
		return ui.Bad
	}
	return progress.Tone(r.State)
}

// cause prints what is in the way, and what helps.
func (p *reportPrinter) cause(head string, c explain.Cause) {
	p.line("")
	title := c.Code
	if !strings.HasPrefix(c.By, "LifecycleEvent") && c.By != "" {
		title += ", by " + c.By
	}
	if c.Since != nil && !c.Since.IsZero() {
		title += ", for " + duration.HumanDuration(p.now.Sub(c.Since.Time))
	}
	if c.Passes {
		title += "; it passes by itself"
	}
	p.text(ui.Strong, head, title)
	p.text(ui.Plain, "   ", objects(c.Objects)+": "+c.Text)
	for _, d := range c.Details {
		p.text(ui.Plain, "   · ", d)
	}
	if len(c.Remedies) > 0 {
		p.text(ui.Plain, "   ", "What helps:")
		p.remedies(c.Remedies)
	}
}

func (p *reportPrinter) remedies(all []explain.Remedy) {
	for _, r := range all {
		p.text(ui.Plain, "   - ", r.Text)
		if r.Command == "" {
			continue
		}
		for _, line := range p.style.WrapCommand("       ", r.Command) {
			p.line(p.style.Paint(ui.Good, line))
		}
	}
}

// objects names a few of the objects of a cause.
func objects(all []string) string {
	if len(all) <= maxObjects {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxObjects], ", "), len(all)-maxObjects)
}

func (p *reportPrinter) section(title string) {
	p.line("")
	p.text(ui.Strong, "", title)
}

// text prints a text, wrapped. Each line is colored by itself.
func (p *reportPrinter) text(tone ui.Tone, head, text string) {
	for _, line := range p.style.Wrap(head, text) {
		p.line(p.style.Paint(tone, line))
	}
}

func (p *reportPrinter) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.out, text)
	}
}
