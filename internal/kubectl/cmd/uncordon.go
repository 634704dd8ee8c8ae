// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

// returnFlags are those of uncordon.
type returnFlags struct {
	nodes   nodeChoice
	output  *outputFlag
	dry     *dryRun
	wait    bool
	timeout time.Duration
	reason  string
}

func newUncordon(t *tool) *cobra.Command {
	r := &returnFlags{}
	command := &cobra.Command{
		Use:   "uncordon NODE... | -l SELECTOR",
		Short: "Put nodes back into service after a drain",
		Long: `Asks for the return of each of the nodes and follows it. Slipway's cordons are undone. A
node that somebody else had cordoned before stays so, and it is said who did.

While a node is being drained, that is an error: 'kubectl slipway cancel' ends the drain, and
undoes its cordon. So is it while somebody else has leased a node and works on it: the lease
is given back first, or broken with 'kubectl slipway lease release --force'. Ctrl-C stops
watching.`,
		Example: `  kubectl slipway uncordon worker-1
  kubectl slipway uncordon -l topology.kubernetes.io/zone=a --wait=false`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
		RunE: func(command *cobra.Command, args []string) error {
			if err := r.nodes.take(args); err != nil {
				return err
			}
			if r.output.format == yamlText && r.wait && *r.dry == dryRunNone {
				return usage("-o yaml goes with --dry-run or --wait=false; what is followed is printed with -o json")
			}
			return t.uncordon(command.Context(), r)
		},
	}
	r.nodes.addSelector(command)
	f := command.Flags()
	f.BoolVar(&r.wait, "wait", true, "follow the returns to their end")
	f.DurationVar(&r.timeout, "timeout", 0, "how long to wait; 0: without limit")
	f.StringVar(&r.reason, "reason", "", "why, for others to read")
	r.dry = addDryRun(f)
	r.output = addOutput(f, jsonText, yamlText, names)
	return command
}

func (t *tool) uncordon(ctx context.Context, r *returnFlags) error {
	p, nodes, err := t.pursue(ctx, &r.nodes, *r.dry)
	if err != nil || len(nodes) == 0 {
		return err
	}
	if err := t.mayReturn(ctx, &r.nodes); err != nil {
		return err
	}
	for _, node := range nodes {
		p.wanted = append(p.wanted, request.Return(node, r.reason))
	}
	p.verb, p.output, p.timeout = "uncordoned", r.output.format, r.timeout
	return p.run(ctx, *r.dry, r.wait)
}
