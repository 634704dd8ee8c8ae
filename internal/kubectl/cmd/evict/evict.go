// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// evictFlags are the flags of evict.
type evictFlags struct {
	cli.Waiting
	pods     []string
	reason   string
	withdraw bool
}

func newEvict(t *cli.Tool) *cobra.Command {
	e := &evictFlags{}
	command := &cobra.Command{
		Use:   "evict POD...",
		Short: "Request the eviction of pods, and follow their responders",
		Long: `Creates an EvictionRequest (KEP-4563) for each of the pods, and follows it: the active responder,
its message and last heartbeat, and the next responder. Responders are those that the pod names,
one after the other, and a last one that evicts the pod within its PodDisruptionBudgets. They
work in the cluster, and go on without this command: Ctrl-C stops watching.

A request that this command has made before is followed, whoever called it; one that has failed
is made anew. When a pod is gone, its request goes as well. --withdraw withdraws the requests:
unless another requester wants the eviction, the responder is told to stop.

A user who may create EvictionRequests can have any pod of the namespace deleted.

With -o json, each change is one JSON object on stdout, with the fields time, namespace, pod,
uid, node, state, reason, message, requesters, responder, next, eviction and ended. Exit code 1:
also where nothing acts on EvictionRequests; 3: the last responder is done and the pod still there.
'kubectl slipway --help' explains the others.`,
		Example: `  kubectl slipway evict cart-0 -n shop
  kubectl slipway evict cart-0 cart-1 -n shop --reason 'disk is failing' --timeout=1h
  kubectl slipway evict cart-0 -n shop --wait=false
  kubectl slipway evict cart-0 -n shop --withdraw`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: t.Complete(0, func(ctx context.Context, _ []string) []string {
			return podNames(ctx, t)
		}),
		RunE: func(command *cobra.Command, args []string) error {
			if err := e.check(args); err != nil {
				return err
			}
			return e.run(command.Context(), t)
		},
	}
	f := command.Flags()
	e.AddWaiting(f, "follow the evictions to their end")
	f.StringVar(&e.reason, "reason", "", "the reason, for people: annotation "+annotationReason)
	f.BoolVar(&e.withdraw, "withdraw", false, "withdraw the requests of this command")
	e.Output = cli.AddOutput(f, cli.JSON, cli.YAML, cli.Name)
	return command
}

// check finds what is wrong with the flags, and reads the names of the pods.
func (e *evictFlags) check(args []string) error {
	if len(args) == 0 {
		return cli.Usagef("the pods are missing: give names, such as cart-0")
	}
	for _, arg := range args {
		name, ok := cli.Pod(arg)
		if !ok {
			return cli.Usagef("%q is no pod: give its name, such as cart-0", arg)
		}
		if !slices.Contains(e.pods, name) {
			e.pods = append(e.pods, name)
		}
	}
	switch {
	case e.withdraw && e.reason != "":
		return cli.Usagef("--reason says why a pod is to be evicted, and does not go with --withdraw")
	case e.withdraw && e.Format != cli.Human && e.Format != cli.Name:
		return cli.Usagef("-o %s is for requested evictions, and does not go with --withdraw", e.Output)
	default:
		return e.Check()
	}
}

// podNames returns the names of the pods in the namespace, for completions.
func podNames(ctx context.Context, t *cli.Tool) (names []string) {
	_, clients, namespace, err := evictionClients(t)
	if err != nil {
		return nil
	}
	pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

func (e *evictFlags) run(ctx context.Context, t *cli.Tool) error {
	p := newPursuit(t, e.Output)
	var err error
	if p.cluster, p.clients, p.namespace, err = evictionClients(t); err != nil {
		return err
	}
	if e.withdraw {
		return p.withdrawAll(ctx, e)
	}
	if err := p.askAll(ctx, e.pods, e.reason); err != nil {
		p.sayLeft()
		return err
	}
	if !e.Wait {
		return p.printAsked()
	}
	ctx, stop := cli.Within(ctx, e.Timeout)
	defer stop()
	return p.follow(ctx)
}
