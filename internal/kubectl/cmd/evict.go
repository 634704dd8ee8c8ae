// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// evictFlags are those of evict.
type evictFlags struct {
	pods     []string
	reason   string
	withdraw bool
	wait     bool
	timeout  time.Duration
	output   *outputFlag
}

func newEvict(t *tool) *cobra.Command {
	e := &evictFlags{}
	command := &cobra.Command{
		Use:   "evict POD...",
		Short: "Ask for the eviction of pods, and follow who responds",
		Long: `Creates an EvictionRequest (KEP-4563) for each of the pods, and follows it: whose turn it is to
respond, what it says, when it was heard of last, and who is next. Responders are those that
the pod names, one after the other, and at last one that evicts it within its budgets. The
work is done in the cluster, and goes on without this command: Ctrl-C stops watching.

A request that this command has made before is followed, whoever called it; one that has
failed is made anew. When a pod is gone, its request goes as well. --withdraw takes the
requests back: if nobody else asks for the eviction, its responder is told to stop.

Who may create EvictionRequests can get any pod of the namespace deleted.

Exit codes: 0 evicted, 1 error, or nobody acts on EvictionRequests here, 2 wrong usage,
3 all responders have had their turn and the pod is still there, 4 canceled, 5 not evicted
when --timeout was over, 130 interrupted.

With -o json, each change is one JSON object on stdout, with the fields time, namespace, pod,
uid, node, state, reason, message, requesters, responder, next, eviction and ended.`,
		Example: `  kubectl slipway evict cart-0 -n shop
  kubectl slipway evict cart-0 cart-1 -n shop --reason 'disk is failing' --timeout=1h
  kubectl slipway evict cart-0 -n shop --wait=false
  kubectl slipway evict cart-0 -n shop --withdraw`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completePods,
		RunE: func(command *cobra.Command, args []string) error {
			if err := e.check(args); err != nil {
				return err
			}
			return t.evict(command.Context(), e)
		},
	}
	f := command.Flags()
	f.StringVar(&e.reason, "reason", "", "why, for others to read: annotation "+annotationReason)
	f.BoolVar(&e.withdraw, "withdraw", false, "take back what this command has asked for")
	f.BoolVar(&e.wait, "wait", true, "follow the evictions to their end")
	f.DurationVar(&e.timeout, "timeout", 0, "how long to wait; 0: without limit")
	e.output = addOutput(f, jsonText, names)
	return command
}

// check finds what is wrong with the flags.
func (e *evictFlags) check(args []string) (err error) {
	if e.pods, err = podNames(args); err != nil {
		return err
	}
	switch {
	case e.withdraw && e.reason != "":
		return usage("--reason says why a pod is to be evicted, and does not go with --withdraw")
	case e.withdraw && e.output.format == jsonText:
		return usage("-o json is for evictions that are followed, and does not go with --withdraw")
	default:
		return nil
	}
}

func (t *tool) evict(ctx context.Context, e *evictFlags) error {
	clients, namespace, err := t.evictionClients()
	if err != nil {
		return err
	}
	p := &evictPursuit{
		tool: t, clients: clients, namespace: namespace, output: e.output.format,
		asked: map[string]*askedEviction{}, shown: map[string]evictionChange{},
	}
	if e.withdraw {
		return p.withdrawAll(ctx, e)
	}
	if err := p.askAll(ctx, e.pods, e.reason); err != nil {
		p.sayLeft()
		return err
	}
	if !e.wait {
		return p.printAsked()
	}
	if e.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, e.timeout, errTimeout)
		defer stop()
	}
	return p.follow(ctx)
}
