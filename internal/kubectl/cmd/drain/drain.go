// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Choice are the flags of kubectl drain that say what a drain does. They mean the same to
// drain and plan.
type Choice struct {
	request.Drain

	// ignoreDaemonSets is accepted for kubectl drain's sake.
	ignoreDaemonSets bool
}

// AddFlags adds the flags.
func (c *Choice) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&c.Mode, "eviction-mode", "", "who evicts pods: Auto, EvictionRequest (their responders alone) or Eviction (the drain alone); "+
		"empty means Auto")
	f.BoolVar(&c.Force, "force", false, "evict pods that have no controller, which nothing would start again")
	f.BoolVar(&c.DeleteEmptyDirData, "delete-emptydir-data", false, "evict pods with emptyDir volumes, whose content is lost")
	f.BoolVar(&c.ignoreDaemonSets, "ignore-daemonsets", false, "accepted, and changes nothing: pods of DaemonSets always stay, and never block a drain")
	f.IntVar(&c.GracePeriod, "grace-period", -1, "seconds that each pod has to end, at least 1; -1: the pod's own")
	f.StringVar(&c.PodSelector, "pod-selector", "", "only the pods with these labels")
	f.BoolVar(&c.DisableEviction, "disable-eviction", false, "delete pods whose PodDisruptionBudgets allow no eviction; such a drain needs the verb override-budgets on lifecycleevents")
}

// drainFlags are kubectl drain's, and those of a drain in the cluster.
type drainFlags struct {
	Choice
	cli.Waiting
	nodes cli.Nodes

	// These are accepted for kubectl drain's sake.
	chunkSize int64
	skipWait  int
}

func newDrain(t *cli.Tool) *cobra.Command {
	d := &drainFlags{}
	command := &cobra.Command{
		Use:   "drain NODE... | -l SELECTOR",
		Short: "Take nodes out of service: cordon them and evict their pods, within their PodDisruptionBudgets",
		Long: `Requests a drain of each of the nodes and follows it. The drains run in the cluster, side by
side, and go on without this command: Ctrl-C stops watching, not the drain. To drain one node
after the other, call it once for each.

The flags are those of 'kubectl drain', so that an alias is enough to switch:

* Without --force, pods without a controller are not evicted; without --delete-emptydir-data,
  pods with emptyDir volumes are not. While there is such a pod, nothing is evicted. While this
  command waits, it withdraws such a drain, has its cordon undone, and names each such pod with
  the flag that allows its eviction. With --wait=false, the drain stays blocked until these pods
  are gone, it is canceled, or its deadline passes.
* --timeout is the deadline of the drain as well, which counts from when the drain is claimed:
  nothing is evicted after it. A drain that is not claimed when --timeout is over is withdrawn
  if this command still waits; if not, it begins when it is claimed.
* Pods of DaemonSets and static pods stay, with or without --ignore-daemonsets.
* A second request for the same drain follows the first one; with other parameters it is an error.

With -o json, each change is one JSON object on stdout, with the fields time, node, event, uid,
transition, phase, state, progress, deadline, waiting, blocked, blockers, blockersTotal,
canceling, ended, reason and message. 'kubectl slipway --help' explains the exit codes.`,
		Example: `  # Drain a node, with pods without a controller, and those with emptyDir volumes
  kubectl slipway drain worker-1 --force --delete-emptydir-data --ignore-daemonsets

  # Drain all nodes of a zone, give each pod 15 minutes to end, and do not wait
  kubectl slipway drain -l topology.kubernetes.io/zone=a --grace-period=900 --wait=false

  # Give a reason, and stop after an hour
  kubectl slipway drain worker-1 --reason 'new firmware' --timeout=1h

  # See the request
  kubectl slipway drain worker-1 --dry-run=client -o yaml`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.CompleteNodes(0),
		RunE: func(command *cobra.Command, args []string) error {
			if err := d.check(args); err != nil {
				return err
			}
			return d.run(command.Context(), t)
		},
	}
	d.nodes.AddSelector(command)
	f := command.Flags()
	d.Choice.AddFlags(f)
	d.AddWaiting(f, "follow the drains to their end")
	f.Lookup("timeout").Usage = "how long to wait, and the deadline of the drain in the cluster (unless --sla gives one); 0: without limit"
	f.DurationVar(&d.SLA, "sla", 0, "the deadline of the drain in the cluster, from its claim; 0: --timeout, or else "+request.UsualSLA.String())
	f.StringVar(&d.Reason, "reason", "", "the reason, for people")
	f.StringSliceVar(&d.Allow, "allow", nil, "guards that do not hold the drain: LastSchedulableNode, SecondControlPlaneNode")
	f.IntVar(&d.skipWait, "skip-wait-for-delete-timeout", 0, "only 0: a node is not empty before its pods have ended")
	f.Int64Var(&d.chunkSize, "chunk-size", 0, "accepted, and changes nothing: the pods are listed in the cluster")
	d.AddDryRun(f)
	d.Output = cli.AddOutput(f, cli.JSON, cli.YAML, cli.Name)
	return command
}

// check finds what is wrong with the flags.
func (d *drainFlags) check(args []string) error {
	if err := d.nodes.Take(args); err != nil {
		return err
	}
	if d.skipWait != 0 {
		return cli.Usagef("--skip-wait-for-delete-timeout: a drain in the cluster waits for terminating pods until they have ended; " +
			"leave the flag out, or see escalation.killAfter in " + reasons.Docs + "docs/drain-rules.md")
	}
	d.Drain.Timeout = d.Waiting.Timeout
	if _, err := d.Event("checked"); err != nil {
		return cli.Usagef("%w", err)
	}
	return d.Check()
}

func (d *drainFlags) run(ctx context.Context, t *cli.Tool) error {
	p, nodes, err := newPursuit(ctx, t, &d.nodes, &d.Waiting)
	if err != nil || len(nodes) == 0 {
		return err
	}
	for _, node := range nodes {
		event, err := d.Event(node)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		p.wanted = append(p.wanted, event)
	}
	p.verb, p.byTimeout = drained, d.Waiting.Timeout > 0 && d.SLA == 0
	return p.run(ctx)
}
