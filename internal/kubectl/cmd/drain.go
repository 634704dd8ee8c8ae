// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

// drainFlags are kubectl drain's, and what a drain in the cluster has besides.
type drainFlags struct {
	drainChoice
	nodes  nodeChoice
	output *outputFlag
	dry    *dryRun
	wait   bool

	// Of kubectl's, these say something that does not arise here.
	chunkSize int64
	skipWait  int
}

func newDrain(t *tool) *cobra.Command {
	d := &drainFlags{}
	command := &cobra.Command{
		Use:   "drain NODE... | -l SELECTOR",
		Short: "Take nodes out of service: cordon them and evict their pods, within their budgets",
		Long: `Asks for a drain of each of the nodes and follows it. The drains run in the cluster, side by
side, and go on without this command: Ctrl-C stops watching, not the drain. To drain one node
after the other, call it once for each.

The flags are those of 'kubectl drain', so that an alias is enough to switch:

* Without --force, pods without a controller are not evicted; without --delete-emptydir-data,
  none that has an emptyDir volume. While there is one, nothing is evicted. This command, as
  long as it waits, withdraws such a drain, has its cordon undone, and names each such pod with
  the flag that evicts it. With --wait=false nobody does: the drain is blocked until they
  are gone, it is canceled, or its deadline has passed.
* --timeout is the deadline of the drain as well, which counts from when the drain is claimed:
  nothing is evicted after it. A drain that is not claimed when --timeout is over is withdrawn,
  if this command still waits; if not, it begins when it is claimed.
* Pods of DaemonSets and static pods stay, with or without --ignore-daemonsets.
* A drain that is asked for again is followed; with other parameters it is an error.

Exit codes: 0 drained, 1 error or pods that are refused, 2 wrong usage, 3 failed or deadline
passed, 4 canceled, 5 not drained when --timeout was over, 130 interrupted.

With -o json, each change is one JSON object on stdout, with the fields time, node, event, uid,
transition, phase, state, progress, deadline, waiting, blocked, blockers, blockersTotal,
canceling, ended, reason and message.`,
		Example: `  # Drain a node, with pods that nobody would start again, and those with emptyDir volumes
  kubectl slipway drain worker-1 --force --delete-emptydir-data --ignore-daemonsets

  # Drain all nodes of a zone, give each pod 15 minutes to end, and do not wait
  kubectl slipway drain -l topology.kubernetes.io/zone=a --grace-period=900 --wait=false

  # Say why, and give up after an hour
  kubectl slipway drain worker-1 --reason 'new firmware' --timeout=1h

  # See what would be asked for
  kubectl slipway drain worker-1 --dry-run=client -o yaml`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
		RunE: func(command *cobra.Command, args []string) error {
			if err := d.check(args); err != nil {
				return err
			}
			return t.drain(command.Context(), d)
		},
	}
	d.nodes.addSelector(command)
	d.addFlags(command)
	return command
}

func (d *drainFlags) addFlags(command *cobra.Command) {
	f := command.Flags()
	d.drainChoice.addFlags(f)
	f.DurationVar(&d.Timeout, "timeout", 0, "how long to wait, and how long the drain may take in the cluster (unless --sla says that); 0: without limit")
	f.DurationVar(&d.SLA, "sla", 0, "how long the drain may take in the cluster, from its claim; 0: --timeout, or else "+request.UsualSLA.String())
	f.StringVar(&d.Reason, "reason", "", "why, for others to read")
	f.StringSliceVar(&d.Allow, "allow", nil, "guards that are not to hold the drain: LastSchedulableNode, SecondControlPlaneNode")
	f.BoolVar(&d.wait, "wait", true, "follow the drains to their end")
	f.IntVar(&d.skipWait, "skip-wait-for-delete-timeout", 0, "only 0: a node is not empty before its pods have ended")
	f.Int64Var(&d.chunkSize, "chunk-size", 0, "accepted, and changes nothing: the pods are listed in the cluster")
	d.dry = addDryRun(f)
	d.output = addOutput(f, jsonText, yamlText, names)
}

// check finds what is wrong with the flags.
func (d *drainFlags) check(args []string) error {
	if err := d.nodes.take(args); err != nil {
		return err
	}
	if d.skipWait != 0 {
		return usage("--skip-wait-for-delete-timeout: %w", errors.New("a drain here waits for pods until they have ended, however "+
			"long they have been terminating; leave the flag out, or see escalation.killAfter in docs/drain-rules.md"))
	}
	if _, err := d.Event("checked"); err != nil {
		return usage("%w", err)
	}
	if d.output.format == yamlText && d.wait && *d.dry == dryRunNone {
		return usage("-o yaml goes with --dry-run or --wait=false; what is followed is printed with -o json")
	}
	return nil
}

func (t *tool) drain(ctx context.Context, d *drainFlags) error {
	p, nodes, err := t.pursue(ctx, &d.nodes, *d.dry)
	if err != nil || len(nodes) == 0 {
		return err
	}
	for _, node := range nodes {
		event, err := d.Event(node)
		if err != nil {
			return usage("%w", err)
		}
		p.wanted = append(p.wanted, event)
	}
	p.verb, p.output = drained, d.output.format
	p.timeout, p.byTimeout = d.Timeout, d.Timeout > 0 && d.SLA == 0
	return p.run(ctx, *d.dry, d.wait)
}

// pursue finds the cluster and the nodes.
func (t *tool) pursue(ctx context.Context, choice *nodeChoice, dry dryRun) (*pursuit, []string, error) {
	c, reader, err := t.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := t.find(ctx, reader, choice)
	return &pursuit{
		tool: t, cluster: c, asker: asker{client: reader, notes: t.ErrOut, dry: dry == dryRunServer},
		refused: map[string][]lifecyclev1alpha1.Blocker{},
	}, nodes, err
}

// run does what was asked for, as far as a dry run and whether to wait allow.
func (p *pursuit) run(ctx context.Context, dry dryRun, wait bool) error {
	if dry == dryRunClient {
		return p.printWanted()
	}
	if err := p.asker.conflicts(ctx, p.wanted); err != nil {
		return err
	}
	if dry == dryRunServer || !wait {
		return p.begin(ctx, dry)
	}
	return p.follow(ctx)
}

// printWanted prints what would be sent.
func (p *pursuit) printWanted() error {
	p.asked = map[string]asked{}
	if p.output != people {
		return p.printEvents(p.cluster, p.output, p.wanted)
	}
	for _, event := range p.wanted {
		if _, err := p.Out.Write([]byte(p.cluster.resourceName(event.Name) + " created" + dryRunClient.suffix() + "\n")); err != nil {
			return err
		}
	}
	return nil
}
