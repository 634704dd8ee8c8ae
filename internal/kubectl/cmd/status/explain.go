// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newExplain(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	command := t.ForNode(&cobra.Command{
		Use:   "explain NODE",
		Short: "Explain why a node makes no progress, and how to help",
		Long: `Shows whether a drain of the node makes progress or is blocked, the blockers with their age, the
remedies (the safest one first), and the history. It changes nothing. It reads with your permissions, and
lists the objects that you may not read.`,
		Example: `  kubectl slipway explain worker-1
  kubectl slipway explain worker-1 -o jsonpath='{.causes[*].code}'`,
	}, func(ctx context.Context, node string) error { return runExplain(ctx, t, node, output) })
	output = cli.AddShow(command.Flags())
	return command
}

func runExplain(ctx context.Context, t *cli.Tool, node string, output *cli.Output) error {
	_, reader, err := t.Open(ctx)
	if err != nil {
		return err
	}
	facts, err := survey.Reader{Client: reader}.Node(ctx, node)
	if err != nil {
		return err
	}
	now := t.Clock.Now()
	report := explain.Explain(facts, now)
	return t.Print(output, cli.View{
		Value: report, Names: []string{"node/" + node},
		Text: func(style ui.Style, _ bool) string {
			return reportText(style, report, now, cli.OutFor(node, cli.Pointers(facts.Events)))
		},
	})
}

// reportPage describes a report.
type reportPage struct {
	cli.Page
	now time.Time
}

// reportText describes a report; outFor names the maintenances of the node.
func reportText(style ui.Style, r explain.Report, now time.Time, outFor string) string {
	p := &reportPage{Page: cli.Page{Style: style}, now: now}
	p.Text(toneOf(r), "", r.Headline)
	for i, c := range r.Causes {
		p.cause(fmt.Sprintf("%d. ", i+1), c)
	}
	if r.Unlisted > 0 {
		p.Section(fmt.Sprintf("%d more blockers: the status has no room for them.", r.Unlisted))
	}
	if len(r.Next) > 0 {
		p.Section("What you can do:")
		p.remedies(r.Next)
	}
	if len(r.History) > 0 {
		p.Section("History:")
		for _, m := range r.History {
			p.Text(ui.Plain, "   "+m.Time.UTC().Format(time.RFC3339)+"  ", m.Text)
		}
	}
	var unread []string
	for _, u := range r.Unread {
		unread = append(unread, fmt.Sprintf("%s: %s", u.Kind, u.Why))
	}
	p.List("Not read, so the report may be incomplete:", ui.Faint, unread)
	if outFor != "" {
		p.Line("")
		p.Text(ui.Plain, "", outFor)
	}
	return p.String()
}

// toneOf returns the color of the headline.
func toneOf(r explain.Report) ui.Tone {
	if r.HeldUp() {
		return ui.Bad
	}
	return progress.Tone(r.State)
}

// cause adds a cause and its remedies.
func (p *reportPage) cause(head string, c explain.Cause) {
	p.Line("")
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
	p.Text(ui.Strong, head, title)
	p.Text(ui.Plain, "   ", cli.Few(c.Objects, 4)+": "+c.Text)
	for _, d := range c.Details {
		p.Text(ui.Plain, "   · ", d)
	}
	if len(c.Remedies) > 0 {
		p.Text(ui.Plain, "   ", "What helps:")
		p.remedies(c.Remedies)
	}
}

func (p *reportPage) remedies(all []explain.Remedy) {
	for _, r := range all {
		p.Text(ui.Plain, "   - ", r.Text)
		if r.Command == "" {
			continue
		}
		for _, line := range p.Style.WrapCommand("       ", r.Command) {
			p.Line(p.Style.Paint(ui.Good, line))
		}
	}
}
