// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/drain"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// maintainFlags are the flags of maintain. Most of them are bound to fields of the API.
type maintainFlags struct {
	cli.Waiting
	name  string
	nodes cli.Nodes
	plan  bool

	spec    slipwayv1alpha1.NodeMaintenanceSpec
	rollout slipwayv1alpha1.MaintenanceRollout
	drain   slipwayv1alpha1.MaintenanceDrain
	ladder  slipwayv1alpha1.DrainEscalation
	work    slipwayv1alpha1.MaintenanceWork
	window  slipwayv1alpha1.MaintenanceWindow
	// together means that there is no rollout.
	together, allControlPlaneNodes, lastSchedulableNode, includeHeld bool
	notBefore, deadline                                              string
}

func newMaintain(t *cli.Tool) *cobra.Command {
	m := &maintainFlags{}
	command := &cobra.Command{
		Use:   "maintain NAME (NODE... | -l SELECTOR)",
		Short: "Take many nodes out of service, some at a time, and return them",
		Long: `Creates a NodeMaintenance of this name for the nodes, and follows it. The work runs in the cluster
and continues without this command: Ctrl-C stops watching, not the maintenance.

Each node is cordoned and drained within the PodDisruptionBudgets of its pods, worked on, and
returned to service; when it is healthy, the next one starts. The work is a Job of a PodTemplate in
namespace slipway-system-jobs (--job), nothing (--work none), or manual work that a person ends with
'kubectl slipway done NODE'. When a node fails, no other node starts until
'kubectl slipway maintenance retry'. With --all-together, there is no rollout:
'kubectl slipway maintenance stage NAME complete' returns all nodes.

A node that gets the labels later belongs to the maintenance, too. You need the permission to delete
nodes. Write a time as 22:00 (the next one in your time zone), 2026-05-01T22:00,
2026-05-01T22:00:00Z, or 2h.

Some fields have no flag: spec.drainPlan, spec.drain.unmanagedPods, spec.drain.localStorage,
spec.drain.volumeTimeout, and a spec.nodeSelector of several terms. For these, write a file with
--dry-run=client -o yaml, edit it, and run 'kubectl create -f'.

With --plan, the command predicts the maintenance, as 'kubectl slipway plan' does, and creates
nothing. With -o json, each change is one JSON object on stdout. For more, see
` + reasons.Docs + `docs/how-to/maintain-a-fleet.md`,
		Example: `  # Reboot a pool at night, one zone after the other, with the PodTemplate "reboot"
  kubectl slipway maintain kernel-6.12 -l pool=web --topology-key topology.kubernetes.io/zone \
    --max-unavailable 20% --job reboot --not-before 22:00 --deadline 05:00 --reason 'kernel 6.12'

  # Work by hand, two nodes at a time, with a pause after three nodes
  kubectl slipway maintain new-disks -l pool=db --max-unavailable 2 --pause-after 3 --wait=false

  # Wait for a backup before each drain, for at most 30 minutes, and for a test after the work
  kubectl slipway maintain firmware -l rack=7 --hook backup@before-drain:30m:proceed --hook test@before-return

  # Empty a rack by hand, stage by stage
  kubectl slipway maintain rack-7 -l rack=7 --all-together --stage cordon
  kubectl slipway maintenance stage rack-7 drain
  kubectl slipway maintenance stage rack-7 complete`,
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
	m.addFlags(command)
	return command
}

func (m *maintainFlags) addFlags(command *cobra.Command) {
	m.nodes.AddSelector(command)
	f := command.Flags()
	optional(f, &m.rollout.MaxUnavailable, "max-unavailable", "how many of the nodes may be out of service at a time, such as 2 or 20%; by default 1, or the limit of --per-domain", parseLimit)
	f.StringVar(&m.rollout.TopologyKey, "topology-key", "", "a label of nodes: nodes with one value of it follow those with another, as with topology.kubernetes.io/zone")
	optional(f, &m.rollout.PerDomain, "per-domain", "how many nodes with the same value of --topology-key may be out of service, all values side by side; by default, one value follows the other", parseNumber)
	f.BoolVar(&m.rollout.Batches, "batches", false, "start nodes only after all nodes of the previous batch have returned")
	optional(f, &m.rollout.PauseAfter, "pause-after", "wait for 'maintenance resume' when this many nodes have returned", parseNumber)
	optional(f, &m.rollout.FailureThreshold, "failure-threshold", "start no other node when this many nodes have failed; by default 1", parseNumber)
	optional(f, &m.rollout.MaxPendingPods, "max-pending-pods", "start no other node while this many new pods are Pending or not Ready; 0: without limit; by default 10", parseNumber)
	f.BoolVar(&m.together, "all-together", false, "take all nodes out of service at the same time, and return them in stage Complete")
	f.BoolVar(&m.allControlPlaneNodes, "allow-all-control-plane-nodes", false, "with --all-together, allow it for all nodes of the control plane")
	f.BoolVar(&m.lastSchedulableNode, "allow-last-schedulable-node", false, "take also the last schedulable node out of service, which the guards keep otherwise")
	f.BoolVar(&m.includeHeld, "include-held", false, "take over the nodes that users hold, after all free nodes, and inform the holders; by default, wait until they return "+
		"them. Needs the verb release-holds on lifecycleevents")
	cli.Enum(command, &m.spec.Stage, "stage", "the first stage: idle (only plan), cordon or drain; by default drain", stages[:3]...)
	f.StringVar(&m.spec.Reason, "reason", "", "the reason, which other users can read")
	f.StringVar(&m.work.PodTemplate, "job", "", "the PodTemplate, in namespace slipway-system-jobs, of the Job that works on each node")
	optional(f, &m.work.BackoffLimit, "backoff-limit", "with --job, how often its pod may fail, as it does with each reboot; by default 6", parseNumber)
	cli.Enum(command, &m.work.Type, "work", "manual (until 'kubectl slipway done NODE') or none; without --job, manual by default", slipwayv1alpha1.WorkManual, slipwayv1alpha1.WorkNone)
	optional(f, &m.work.Timeout, "work-timeout", "the time limit of the work on a node", parseDuration)
	f.StringVar(&m.notBefore, "not-before", "", "the time from which nodes may start; by default now")
	f.StringVar(&m.deadline, "deadline", "", "the time until which nodes may start; 05:00 or +6h count from --not-before")
	cli.Enum(command, &m.window.AtDeadline, "at-deadline", "finish or cancel the drains in progress at the deadline; by default finish", slipwayv1alpha1.FinishAtDeadline, slipwayv1alpha1.CancelAtDeadline)
	f.Func("hook", "hold each node until 'maintenance open': NAME@before-drain, @after-drain or @before-return, with :TIMEOUT or :TIMEOUT:proceed. Can be repeated", m.addHook)
	optional(f, &m.drain.GracePeriodSeconds, "grace-period", "the time in seconds in which each pod ends; by default the pod's own", func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
	optional(f, &m.drain.PodTimeout, "pod-timeout", "the time that a drain waits for a pod before it evicts the next pods", parseDuration)
	optional(f, &m.drain.Timeout, "drain-timeout", "the time limit of the drain of a node", parseDuration)
	optional(f, &m.ladder.DeleteAfter, "delete-after", "the time after which a drain deletes a pod whose eviction is refused, regardless of its PodDisruptionBudgets; "+
		"needs the verb override-budgets on lifecycleevents; by default never", parseDuration)
	optional(f, &m.ladder.KillAfter, "kill-after", "the time after which a drain deletes a terminating pod again, with a grace period of 1 s; by default never", parseDuration)
	drain.AddMode(command, &m.drain.Mode)
	f.BoolVar(&m.plan, "plan", false, "predict the order of the nodes and the blockers, and create nothing")
	m.AddWaiting(command, "follow it to its end")
	m.AddDryRun(command)
	m.Output = cli.AddShow(f)
	for _, name := range []string{"max-unavailable", "topology-key", "per-domain", "batches", "pause-after", "failure-threshold", "max-pending-pods", "job", "work", "work-timeout"} {
		command.MarkFlagsMutuallyExclusive("all-together", name)
	}
	command.MarkFlagsMutuallyExclusive("job", "work")
	command.MarkFlagsMutuallyExclusive("plan", "dry-run")
}

// optional adds a flag for a field that may be missing.
func optional[T any](f *pflag.FlagSet, into **T, name, usage string, parse func(string) (T, error)) {
	f.Func(name, usage, func(text string) error {
		value, err := parse(text)
		*into = &value
		return err
	})
}

func parseNumber(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int32(n), err
}

func parseDuration(text string) (metav1.Duration, error) {
	d, err := time.ParseDuration(text)
	return metav1.Duration{Duration: d}, err
}

// check finds mistakes in the command line.
func (m *maintainFlags) check(args []string) (err error) {
	if m.name, err = cli.CutMaintenance(args[0]); err != nil {
		return err
	}
	if err := m.nodes.Take(args[1:]); err != nil {
		return err
	}
	switch {
	case m.allControlPlaneNodes && !m.together:
		return cli.Usagef("--allow-all-control-plane-nodes needs --all-together: a rollout takes out one node of the control plane at a time")
	case m.plan && m.Format == cli.Name:
		return cli.Usagef("-o name does not go with --plan, which creates nothing")
	case !m.plan && m.Format == cli.Wide:
		return cli.Usagef("-o wide goes with --plan")
	case m.plan:
		return nil
	default:
		return m.Check()
	}
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
	err = p.look(ctx)
	switch {
	case err != nil:
		return err
	case m.plan:
		return p.plan(ctx)
	case m.DryRun == cli.DryRunClient:
		return p.print(wanted)
	}
	created, err := p.create(ctx)
	if err != nil {
		return err
	}
	goal := goalOf(created)
	if m.DryRun == cli.DryRunNone && m.Wait && goal != nil {
		return followMaintenance(ctx, t, c, created, &m.Waiting, goal)
	}
	err = p.print(created)
	if err == nil && m.DryRun == cli.DryRunNone && m.Format == cli.Human {
		sayHow(t, "It continues in the cluster.", created.Name)
	}
	return err
}
