// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newExplain(t *tool) *cobra.Command {
	var output *outputFlag
	nodes := &nodeChoice{}
	command := &cobra.Command{
		Use:   "explain NODE",
		Short: "Say why a node is not moving, and what helps",
		Long: `Says how a node is: whether a drain of it is moving or held up, by what, since when, and what
helps, the safest first; and what has happened so far. It changes nothing. It reads with your
rights, and says what it may not read.`,
		Example: `  kubectl slipway explain worker-1
  kubectl slipway explain worker-1 -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeNode,
		RunE: func(command *cobra.Command, args []string) error {
			if err := nodes.take(args); err != nil {
				return err
			}
			c, err := t.connect(command.Context())
			if err != nil {
				return err
			}
			reader, err := survey.New(c.config, c.http, c.home)
			if err != nil {
				return err
			}
			facts, err := reader.Node(command.Context(), nodes.named[0])
			if err != nil {
				return err
			}
			report := explain.Explain(facts, t.clock.Now())
			if output.format != people {
				return encode(t.Out, output.format, report)
			}
			style := ui.StyleOf(t.Out, os.Getenv)
			if err := printReport(t.Out, style, report, t.clock.Now()); err != nil {
				return err
			}
			return printOutFor(t.Out, style, facts)
		},
	}
	output = addOutput(command.Flags(), jsonText, yamlText)
	return command
}
