// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"io"
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
	command := &cobra.Command{
		Use:   "explain NODE",
		Short: "Say why a node is not moving, and what helps",
		Long: `Says whether a drain of the node moves or is blocked, by what and since when; what helps, the
safest remedy first; and what has happened so far. It changes nothing. It reads with your
permissions, and says what it may not read.`,
		Example: `  kubectl slipway explain worker-1
  kubectl slipway explain worker-1 -o jsonpath='{.causes[*].code}'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteNodes(1),
		RunE: func(command *cobra.Command, args []string) error {
			node, err := cli.OneNode(args)
			if err != nil {
				return err
			}
			return runExplain(command.Context(), t, node, output)
		},
	}
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
		Human: func(out io.Writer, style ui.Style, _ bool) error {
			return printReport(out, style, report, now, cli.OutFor(node, cli.Pointers(facts.Events)))
		},
	})
}

// reportPage prints a report for people.
type reportPage struct {
	cli.Page
	now time.Time
}

// printReport prints a report; outFor names the maintenances that the node is out for.
func printReport(out io.Writer, style ui.Style, r explain.Report, now time.Time, outFor string) error {
	p := &reportPage{Page: cli.Page{Out: out, Style: style}, now: now}
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
		p.Section("What has happened:")
		for _, m := range r.History {
			p.Text(ui.Plain, "   "+m.Time.UTC().Format(time.RFC3339)+"  ", m.Text)
		}
	}
	var unread []string
	for _, u := range r.Unread {
		unread = append(unread, fmt.Sprintf("%s: %s", u.Kind, u.Why))
	}
	p.List("What could not be read, so that there may be more to say:", ui.Faint, unread)
	if outFor != "" {
		p.Line("")
		p.Text(ui.Plain, "", outFor)
	}
	return p.Err
}

// toneOf is the color of the headline.
func toneOf(r explain.Report) ui.Tone {
	if r.HeldUp() {
		return ui.Bad
	}
	return progress.Tone(r.State)
}

// cause prints a cause and its remedies.
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
	p.Text(ui.Plain, "   ", cli.Few(c.Objects)+": "+c.Text)
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
