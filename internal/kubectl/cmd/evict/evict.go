// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/reasons"
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
its message and last heartbeat, and the next responder. Responders work in the cluster, and continue
without this command: Ctrl-C stops watching. The command follows an earlier request of another user of
the command, and replaces a failed one. --withdraw withdraws the requests: unless another requester wants the
eviction, the responder stops.

Users with permission to create EvictionRequests can delete any pod of the namespace. With -o json, each change
is one JSON object on stdout. For more, see
` + reasons.Docs + `docs/how-to/evict-a-pod-by-request.md`,
		Example: `  kubectl slipway evict cart-0 -n shop
  kubectl slipway evict cart-0 cart-1 -n shop --reason 'disk is failing' --timeout=1h
  kubectl slipway evict cart-0 -n shop --withdraw`,
		Args:              e.take,
		ValidArgsFunction: t.Complete(0, func(ctx context.Context, _ []string) []string { return podNames(ctx, t) }),
		RunE: func(command *cobra.Command, _ []string) error {
			if err := e.Check(); err != nil {
				return err
			}
			return e.run(command.Context(), t)
		},
	}
	e.AddWaiting(command, "follow the evictions to their end")
	command.Flags().StringVar(&e.reason, "reason", "", "the reason, in the annotation "+annotationReason)
	command.Flags().BoolVar(&e.withdraw, "withdraw", false, "withdraw the requests of this command")
	e.Output = cli.AddOutput(command.Flags(), cli.JSON, cli.YAML, cli.Name)
	for _, name := range []string{"reason", "output", "wait", "timeout"} {
		command.MarkFlagsMutuallyExclusive("withdraw", name)
	}
	return command
}

// take reads the names of the pods.
func (e *evictFlags) take(_ *cobra.Command, args []string) error {
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
	return nil
}

// podNames returns the names of the pods in the namespace, for completions.
func podNames(ctx context.Context, t *cli.Tool) (names []string) {
	p, err := newPursuit(t, nil)
	if err != nil {
		return nil
	}
	pods, err := p.clients.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

func (e *evictFlags) run(ctx context.Context, t *cli.Tool) error {
	p, err := newPursuit(t, e.Output)
	if err != nil {
		return err
	}
	if e.withdraw {
		return p.withdrawAll(ctx, e.pods)
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

// errNoEvictionAPI means that the cluster does not serve EvictionRequests.
var errNoEvictionAPI = errors.New("this cluster does not serve EvictionRequests (lifecycle.k8s.io/v1alpha1): " +
	"'kubectl slipway install --eviction-requests' adds them, and their controller; or start the API server of " +
	"Kubernetes 1.37 with --feature-gates=EvictionRequestAPI=true --runtime-config=lifecycle.k8s.io/v1alpha1=true")

// evictionClients returns the cluster to watch, a client for EvictionRequests, and the namespace of
// the flags. They work without Slipway on the cluster.
func evictionClients(t *cli.Tool) (watched follow.Cluster, clients kubernetes.Interface, namespace string, err error) {
	c, err := t.Reach()
	if err != nil {
		return watched, nil, "", err
	}
	namespace, _, err = t.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return watched, nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.ContentType = "application/json"            // CRDs support only JSON
	c.Home = apigroup.In(lifecyclev1alpha1.GroupSlipway) // for the scheme only
	clients, err = c.Kubernetes()
	return c.Watched(), clients, namespace, err
}

// evictionTrouble returns the error of a request about the kind, with the remedy.
func evictionTrouble(doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return errNoEvictionAPI
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func newEvictions(t *cli.Tool) *cobra.Command {
	var all bool
	var output *cli.Output
	command := &cobra.Command{
		Use:   "evictions [-n NAMESPACE | -A]",
		Short: "Show the pods of EvictionRequests, and their responders",
		Long: `Shows the pods of EvictionRequests (KEP-4563): the requesters, the active responder, the time since
its start and its last heartbeat, and its message. A responder without a heartbeat for 20 minutes loses
its place to the next one; the last one evicts, within the pod's PodDisruptionBudgets.

-o wide adds the time at which the responder expects to be done, and the name of the Eviction.`,
		Example: `  kubectl slipway evictions -n shop
  kubectl slipway evictions -A -o json | jq '.items[] | select(.state == "failed")'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			rows, err := listEvictions(command.Context(), t, all)
			if err != nil {
				return err
			}
			return t.Print(output, evictionsView(t, rows, all))
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "the pods of all namespaces")
	output = cli.AddShow(command.Flags())
	return command
}

// listEvictions reads the evictions in the namespace of the flags, or in all.
func listEvictions(ctx context.Context, t *cli.Tool, all bool) ([]evictionRow, error) {
	_, clients, namespace, err := evictionClients(t)
	if err != nil {
		return nil, err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	requests, err := clients.LifecycleV1alpha1().EvictionRequests(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, evictionTrouble("list EvictionRequests", err)
	}
	evictions, err := clients.LifecycleV1alpha1().Evictions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, evictionTrouble("list Evictions", err)
	}
	return evictionRows(cli.Pointers(requests.Items), cli.Pointers(evictions.Items)), nil
}

func evictionsView(t *cli.Tool, rows []evictionRow, namespaces bool) cli.View {
	var names []string
	for i := range rows {
		names = append(names, "pod/"+rows[i].Pod)
	}
	return cli.View{Value: cli.List(rows), Names: names, Text: func(style ui.Style, wide bool) string {
		return evictionTable(rows, style, t.Clock.Now(), namespaces, wide)
	}}
}
