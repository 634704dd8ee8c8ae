// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	enginedrain "github.com/slipway-k8s/slipway/drain"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Choice holds the flags that change a drain. The commands drain and plan share them.
type Choice struct {
	request.Drain

	// ignoreDaemonSets exists only for compatibility with kubectl drain.
	ignoreDaemonSets bool
}

// AddFlags adds the flags.
func (c *Choice) AddFlags(command *cobra.Command) {
	AddMode(command, &c.Mode)
	f := command.Flags()
	f.BoolVar(&c.Force, "force", false, "evict pods that have no controller, which no controller starts again")
	f.BoolVar(&c.DeleteEmptyDirData, "delete-emptydir-data", false, "evict pods with emptyDir volumes, whose content is lost")
	f.BoolVar(&c.ignoreDaemonSets, "ignore-daemonsets", false, "accepted, without effect: pods of DaemonSets always stay, and never block a drain")
	f.IntVar(&c.GracePeriod, "grace-period", -1, "the time in seconds in which each pod ends, at least 1; -1: the pod's own")
	f.StringVar(&c.PodSelector, "pod-selector", "", "only the pods with these labels")
	f.DurationVar(&c.DeleteAfter, "delete-after", 0, "the time after which the drain deletes a pod whose eviction is refused, regardless of its PodDisruptionBudgets; "+
		"needs the verb override-budgets on lifecycleevents; 0: never")
	f.DurationVar(&c.KillAfter, "kill-after", 0, "the time after which the drain deletes a terminating pod again, with a grace period of 1 s; 0: never")
	f.BoolVar(&c.DisableEviction, "disable-eviction", false, "delete pods whose PodDisruptionBudgets allow no eviction; such a drain needs the verb override-budgets on lifecycleevents")
	command.MarkFlagsMutuallyExclusive("disable-eviction", "delete-after")
}

// AddMode adds --eviction-mode.
func AddMode(command *cobra.Command, into *slipwayv1alpha1.DrainMode) {
	cli.Enum(command, into, "eviction-mode", "the source of evictions: Auto, EvictionRequest (only responders of the pods) or Eviction (only the drain); by default Auto",
		slipwayv1alpha1.DrainAuto, slipwayv1alpha1.DrainEvictionRequest, slipwayv1alpha1.DrainEviction)
}

// addBy adds --reason, --actor and --break-glass.
func addBy(command *cobra.Command, by *request.By) {
	command.Flags().StringVar(&by.Reason, "reason", "", "the reason, which other users can read")
	command.Flags().StringVar(&by.Actor, "actor", "", "distinguishes actors that share a user, such as pipelines: only the same actor returns the node")
	command.Flags().BoolVar(&by.BreakGlass, "break-glass", false, "in an emergency, pass the holds of other actors, availability budgets, guards, leases and the claims of "+
		"other controllers, also without Slipway's controller; an alert fires. Needs --reason, and the verb break-glass on lifecycleevents")
}

// checkBy finds mistakes in these flags.
func checkBy(by request.By) error {
	if by.BreakGlass && by.Reason == "" {
		return cli.Usagef("--break-glass needs --reason: other users read it")
	}
	return nil
}

// addUntil adds --until.
func addUntil(command *cobra.Command, until *string) {
	command.Flags().StringVar(until, "until", "", "the expected return of the node, such as 2h, 17:00 or 2026-05-01T17:00:00Z, which other users can read; after it an alert fires")
}

// expectedReturn reads --until.
func expectedReturn(text string, now time.Time) (*metav1.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no time
	}
	at, err := cli.Moment(text, now)
	if err == nil && !at.After(now) {
		err = fmt.Errorf("%s has passed", at.Format(time.RFC3339))
	}
	if err != nil {
		return nil, cli.Usagef("--until: %w", err)
	}
	return &metav1.Time{Time: at}, nil
}

// drainFlags are the flags of kubectl drain and of a drain in the cluster.
type drainFlags struct {
	Choice
	cli.Waiting
	nodes cli.Nodes
	// until is --until as written.
	until string

	// These flags exist only for compatibility with kubectl drain.
	chunkSize int64
	skipWait  int
}

func newDrain(t *cli.Tool) *cobra.Command {
	d := &drainFlags{}
	command := &cobra.Command{
		Use:   "drain NODE... | -l SELECTOR",
		Short: "Take nodes out of service: cordon them and evict their pods, within their PodDisruptionBudgets",
		Long: `Requests a drain of each of the nodes and follows it. The drains run in the cluster, side by
side, and continue without this command: Ctrl-C stops watching, not the drain.

It accepts the flags of 'kubectl drain', so that an alias is enough to switch:

* Without --force, a drain does not evict pods without a controller; without
  --delete-emptydir-data, it does not evict pods with emptyDir volumes. A node with such a pod keeps
  all its pods. The waiting command withdraws the drain, and lists these pods with the flag that
  allows their eviction. With --wait=false, the drain stays blocked.
* --timeout is also the deadline of the drain, which counts from its claim: the drain evicts no pod
  after it. The command withdraws a drain that has no claim at the end of --timeout.
* Pods of DaemonSets and static pods stay, with or without --ignore-daemonsets.
* A second request for the same drain follows the first one; with other parameters it is an error.

With -o json, each change is one JSON object on stdout. For more, see
` + reasons.Docs + `docs/how-to/from-kubectl-drain.md`,
		Example: `  # Drain a node, with pods without a controller, and those with emptyDir volumes
  kubectl slipway drain worker-1 --force --delete-emptydir-data --ignore-daemonsets

  # Drain all nodes of a zone, give each pod 15 minutes to end, and do not wait
  kubectl slipway drain -l topology.kubernetes.io/zone=a --grace-period=900 --wait=false

  # Give a reason and the expected return, and stop after an hour
  kubectl slipway drain worker-1 --reason 'new firmware' --until 4h --timeout=1h`,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := d.check(t.Clock.Now()); err != nil {
				return err
			}
			return d.run(command.Context(), t)
		},
	}
	d.nodes.AddTo(command, t)
	d.Choice.AddFlags(command)
	d.AddWaiting(command, "follow the drains to their end")
	f := command.Flags()
	f.Lookup("timeout").Usage = "how long to wait, and the deadline of the drain in the cluster (unless --sla gives one); 0: without limit"
	f.DurationVar(&d.SLA, "sla", 0, "the deadline of the drain in the cluster, from its claim; 0: --timeout, or "+request.UsualSLA.String()+" without it")
	addBy(command, &d.By)
	addUntil(command, &d.until)
	f.StringSliceVar(&d.Allow, "allow", nil, "guards that do not hold the drain: LastSchedulableNode, SecondControlPlaneNode")
	f.IntVar(&d.skipWait, "skip-wait-for-delete-timeout", 0, "only 0: a drain waits until its pods have ended")
	f.Int64Var(&d.chunkSize, "chunk-size", 0, "accepted, without effect: the cluster lists the pods")
	d.AddDryRun(command)
	d.Output = cli.AddOutput(f, cli.JSON, cli.YAML, cli.Name)
	return command
}

// check finds mistakes in the flags.
func (d *drainFlags) check(now time.Time) (err error) {
	if d.skipWait != 0 {
		return cli.Usagef("--skip-wait-for-delete-timeout: a drain in the cluster waits until terminating pods have ended; " +
			"leave the flag out, or use --kill-after")
	}
	if err := checkBy(d.By); err != nil {
		return err
	}
	if d.Until, err = expectedReturn(d.until, now); err != nil {
		return err
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
	p.requester.maintenances = d.nodes.Wanted
	p.verb, p.byTimeout = drained, d.Waiting.Timeout > 0 && d.SLA == 0
	if d.DryRun != cli.DryRunClient && !d.Force {
		return p.run(ctx)
	}
	refused, err := p.foresee(ctx, nodes)
	if err != nil {
		return err
	}
	if err := p.run(ctx); err != nil || d.DryRun != cli.DryRunClient || refused == "" {
		return err
	}
	return errors.New(refused)
}

// foresee warns about pods of the nodes that no controller starts again, and returns a text about the pods that the
// drains would refuse to evict. A caller that may not read pods gets neither.
func (p *pursuit) foresee(ctx context.Context, nodes []string) (refused string, err error) {
	request, err := drainparameters.Parse(p.wanted[0].Spec.Parameters.Raw)
	if err != nil {
		return "", cli.Usagef("%w", err)
	}
	snapshot, err := survey.Reader{Client: p.requester.client}.Drains(ctx, nodes, request)
	if apierrors.IsForbidden(err) {
		p.Notef("The pods are not checked: %v", err)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	outlooks, err := enginedrain.Preview(snapshot, p.Clock.Now())
	if err != nil {
		return "", fmt.Errorf("predict: %w", err)
	}
	var texts []string
	for _, o := range outlooks {
		unmanaged, blockers := concerns(o)
		if len(unmanaged) > 0 {
			p.Notef("warning: node %s: no controller starts these pods again: %s", o.Node, ui.Clean(strings.Join(unmanaged, ", ")))
		}
		if len(blockers) > 0 {
			texts = append(texts, fmt.Sprintf("node %s would not be drained, because of pods that this drain refuses to evict:%s", o.Node, listed(blockers)))
		}
	}
	return strings.Join(texts, "\n"), nil
}

// concerns returns the pods that leave and have no controller, and the pods that the drain refuses to evict.
func concerns(o enginedrain.Outlook) (unmanaged []string, refused []lifecyclev1alpha1.Blocker) {
	for _, pod := range o.Pods {
		name := pod.Pod.Namespace + "/" + pod.Pod.Name
		b := lifecyclev1alpha1.Blocker{Object: "Pod " + name, Reason: string(pod.Reason), Message: pod.Message}
		switch {
		case pod.Unmanaged:
			unmanaged = append(unmanaged, name)
		case state.FlagAgainst(b) != "":
			refused = append(refused, b)
		}
	}
	return unmanaged, refused
}
