// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

// maintainFlags are the flags of maintain.
type maintainFlags struct {
	request.Maintain
	cli.Waiting
	name  string
	nodes cli.Nodes
	plan  bool
}

func newMaintain(t *cli.Tool) *cobra.Command {
	m := &maintainFlags{}
	command := &cobra.Command{
		Use:   "maintain NAME (NODE... | -l SELECTOR)",
		Short: "Take many nodes out of service, some at a time, and return them",
		Long: `Creates a NodeMaintenance of this name for the nodes, and follows it. The work runs in the cluster
and goes on without this command: Ctrl-C stops watching, not the maintenance;
'kubectl slipway maintenance' shows it, pauses it and ends it.

Each node is cordoned and drained within the PodDisruptionBudgets of its pods, worked on, and
returned to service; when it is healthy, the next one starts. --max-unavailable limits how many are
out at a time; --topology-key takes one zone after the other. The work is a Job of a PodTemplate in
Slipway's namespace (--job), nothing (--work none), or, without either flag, manual work that a
person ends with 'kubectl slipway done NODE'. When a node fails, no more start
(--failure-threshold), and 'kubectl slipway maintenance retry' tries it again.

With --all-together there is no rollout: all nodes are cordoned or drained at the same time, and
'kubectl slipway maintenance stage NAME complete' returns them. For all nodes of the control plane
this needs --allow-all-control-plane-nodes, and for the last node that pods can go to,
--allow-last-schedulable-node.

Nodes that get the labels later belong to it as well. The command names the nodes that are selected
now, and warns if they are all nodes of the cluster or of the control plane, or if some are in other
maintenances, too. You need the permission to delete nodes. Times are written as 22:00, which is the
next one in your time zone, 2026-05-01T22:00, 2026-05-01T22:00:00Z, or +2h.

Write what has no flag into a file, and create it with 'kubectl create -f': the order in which pods
leave (spec.drainPlan), spec.drain.unmanagedPods, spec.drain.localStorage and
spec.drain.volumeTimeout, and a spec.nodeSelector of several terms. --dry-run=client -o yaml makes
such a file of the flags; 'kubectl slipway maintenance status NAME -w' follows the maintenance.

With -o json, each change is one JSON object on stdout. Exit code 1: also if a guard refuses it; 3:
nodes have failed, or the window is over; 4: it was ended early or deleted. 'kubectl slipway --help'
explains the others.

With --plan, it predicts the maintenance, as 'kubectl slipway plan' does, and creates nothing: the
exit code is 0 if nothing would block, and 6 if something would.`,
		Example: `  # Reboot a pool at night, one zone after the other, by the PodTemplate "reboot"
  kubectl slipway maintain kernel-6.12 -l pool=web --topology-key topology.kubernetes.io/zone \
    --max-unavailable 20% --job reboot --not-before 22:00 --deadline 05:00 --reason 'kernel 6.12'

  # Two nodes at a time, with work by hand, and a look after the first three
  kubectl slipway maintain new-disks -l pool=db --max-unavailable 2 --pause-after 3 --wait=false

  # Wait for hooks: a backup before each drain, for at most 30 minutes, and a test after the work
  kubectl slipway maintain firmware -l rack=7 --hook backup@before-drain:30m:proceed --hook test@before-return

  # Empty a rack by hand, stage by stage
  kubectl slipway maintain rack-7 -l rack=7 --all-together --stage cordon
  kubectl slipway maintenance stage rack-7 drain
  kubectl slipway maintenance stage rack-7 complete

  # See which nodes would be out together and what would block, then leave out --plan
  kubectl slipway maintain kernel-6.12 -l pool=web --max-unavailable 2 --plan

  # See the object, or write into it what has no flag, and create it
  kubectl slipway maintain kernel-6.12 -l pool=web --dry-run=client -o yaml > kernel.yaml
  kubectl create -f kernel.yaml`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: t.Complete(0, func(ctx context.Context, args []string) []string {
			if len(args) == 0 {
				return nil // the name is a new one
			}
			return t.NodeNames(ctx)
		}),
		RunE: func(command *cobra.Command, args []string) error {
			if err := m.check(args); err != nil {
				return err
			}
			return m.run(command.Context(), t)
		},
	}
	m.nodes.AddSelector(command)
	m.addFlags(command)
	return command
}

func (m *maintainFlags) addFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&m.MaxUnavailable, "max-unavailable", "", "how many of the nodes may be out at a time, such as 2 or 20%; empty: 1, or what --per-domain allows")
	f.StringVar(&m.TopologyKey, "topology-key", "", "a label of nodes whose values are done one after the other, such as topology.kubernetes.io/zone")
	f.Int32Var(&m.PerDomain, "per-domain", 0, "how many may be out of each value of --topology-key, all values side by side; 0: one value after the other")
	f.BoolVar(&m.Batches, "batches", false, "start nodes only when all nodes that were out have returned")
	f.Int32Var(&m.PauseAfter, "pause-after", 0, "wait for 'maintenance resume' when this many nodes have returned; 0: never")
	f.Int32Var(&m.FailureThreshold, "failure-threshold", 0, "start no more nodes when this many have failed; 0: 1")
	f.Int32Var(&m.MaxPendingPods, "max-pending-pods", -1, "start no more nodes while this many new pods are Pending or not Ready; 0: no such limit, -1: 10")
	f.BoolVar(&m.Together, "all-together", false, "take all nodes out at the same time, and return them when the stage is complete")
	f.BoolVar(&m.AllControlPlaneNodes, "allow-all-control-plane-nodes", false, "with --all-together, allow it for all nodes of the control plane")
	f.BoolVar(&m.LastSchedulableNode, "allow-last-schedulable-node", false, "take out the last node that pods can go to as well; else the guards keep it, where they are installed")
	f.StringVar(&m.Stage, "stage", "", "how far to go now: idle (only plan it), cordon or drain; empty: drain")
	f.StringVar(&m.Reason, "reason", "", "the reason, for people")
	f.StringVar(&m.Job, "job", "", "the PodTemplate in Slipway's namespace of which a Job does the work on each node")
	f.Int32Var(&m.BackoffLimit, "backoff-limit", -1, "with --job, how often its pod may fail, as it does with each reboot; -1: as Jobs have it, 6")
	f.StringVar(&m.Work, "work", "", "manual (until 'kubectl slipway done NODE') or none; empty: manual, if there is no --job")
	f.DurationVar(&m.WorkTimeout, "work-timeout", 0, "how long the work may take on a node; 0: without limit")
	f.StringVar(&m.NotBefore, "not-before", "", "when the first node may be taken out; empty: at once")
	f.StringVar(&m.Deadline, "deadline", "", "when the last node may be taken out; empty: there is none. 05:00 or +6h count from --not-before")
	f.StringVar(&m.AtDeadline, "at-deadline", "", "what happens to drains in progress then: finish or cancel; empty: finish")
	f.StringArrayVar(&m.Hooks, "hook", nil, "NAME@before-drain, @after-drain or @before-return, and :TIMEOUT or :TIMEOUT:proceed; hold each node there until 'maintenance open'. Can be repeated")
	f.IntVar(&m.GracePeriod, "grace-period", -1, "seconds that each pod has to end, at least 1; -1: the pod's own")
	f.DurationVar(&m.PodTimeout, "pod-timeout", 0, "how long a drain waits for a pod before the next ones leave; 0: without limit")
	f.DurationVar(&m.DrainTimeout, "drain-timeout", 0, "how long the drain of a node may take; 0: without limit")
	f.StringVar(&m.Mode, "eviction-mode", "", "who evicts pods: Auto, EvictionRequest (their responders alone) or Eviction (the drain alone); empty means Auto")
	f.BoolVar(&m.plan, "plan", false, "predict in which order nodes would be taken out and what would block, and create nothing")
	m.AddWaiting(f, "follow it to its end")
	m.AddDryRun(f)
	m.Output = cli.AddShow(f)
	_ = command.RegisterFlagCompletionFunc("stage", cobra.FixedCompletions([]string{"idle", "cordon", "drain"}, cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("work", cobra.FixedCompletions([]string{"manual", "none"}, cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("at-deadline", cobra.FixedCompletions([]string{"finish", "cancel"}, cobra.ShellCompDirectiveNoFileComp))
}

// check finds what is wrong with the flags.
func (m *maintainFlags) check(args []string) (err error) {
	if m.name, err = cli.CutMaintenance(args[0]); err != nil {
		return err
	}
	if err := m.nodes.Take(args[1:]); err != nil {
		return err
	}
	if _, err := m.object(time.Unix(0, 0)); err != nil {
		return cli.Usagef("%w", err)
	}
	if m.plan {
		return m.checkPlan()
	}
	if m.Format == cli.Wide {
		return cli.Usagef("-o wide goes with --plan")
	}
	return m.Check()
}

// object returns the wanted maintenance.
func (m *maintainFlags) object(now time.Time) (*slipwayv1alpha1.NodeMaintenance, error) {
	nodes := request.NodesNamed(m.nodes.Named)
	if m.nodes.Selector != "" {
		var err error
		if nodes, err = request.NodesWithLabels(m.nodes.Selector); err != nil {
			return nil, err
		}
	}
	return m.Maintenance(m.name, nodes, now)
}

func (m *maintainFlags) run(ctx context.Context, t *cli.Tool) error {
	wanted, err := m.object(t.Clock.Now().Local())
	if err != nil {
		return cli.Usagef("%w", err)
	}
	c, client, err := t.Open(ctx)
	if err != nil {
		return err
	}
	p := &maintaining{Tool: t, cluster: c, client: client, flags: m, wanted: wanted}
	if err := p.look(ctx); err != nil {
		return err
	}
	if m.plan {
		return p.plan(ctx)
	}
	if m.DryRun == cli.DryRunClient {
		return p.print(wanted)
	}
	if err := p.mayDeleteNodes(ctx); err != nil {
		return err
	}
	created, err := p.create(ctx)
	if err != nil {
		return err
	}
	if m.DryRun == cli.DryRunServer {
		return p.print(created)
	}
	goal := goalOf(created)
	if !m.Wait || goal == nil {
		if err := p.print(created); err != nil {
			return err
		}
		if m.Format == cli.Human {
			sayHow(t, "It goes on in the cluster.", created.Name)
		}
		return nil
	}
	return followMaintenance(ctx, t, c, created, &m.Waiting, goal)
}

// controlPlane is the label of the nodes of the control plane.
const controlPlane = "node-role.kubernetes.io/control-plane"

func isControlPlane(node *corev1.Node) bool {
	_, is := node.Labels[controlPlane]
	return is
}
