// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// errNoEvictionAPI means that the cluster does not serve EvictionRequests.
var errNoEvictionAPI = errors.New("this cluster does not serve EvictionRequests (lifecycle.k8s.io/v1alpha1): " +
	"'kubectl slipway install --eviction-requests' adds them, and their controller; or start the API server of " +
	"Kubernetes 1.37 with --feature-gates=EvictionRequestAPI=true --runtime-config=lifecycle.k8s.io/v1alpha1=true")

// evictionClients returns the cluster to watch, a client for EvictionRequests, and the namespace of the flags. Slipway need
// not be installed.
func evictionClients(t *cli.Tool) (watched follow.Cluster, clients kubernetes.Interface, namespace string, err error) {
	c, err := t.Reach()
	if err != nil {
		return watched, nil, "", err
	}
	namespace, _, err = t.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return watched, nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.ContentType = "application/json"            // CRDs support nothing else
	c.Home = apigroup.In(lifecyclev1alpha1.GroupSlipway) // nothing of it is read
	clients, err = c.Kubernetes()
	return c.Watched(), clients, namespace, err
}

// evictionTrouble returns the error of a request about the kind, with what helps.
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
		Short: "Show the pods whose eviction is requested, and their responders",
		Long: `Shows the pods of EvictionRequests (KEP-4563): the requesters, the active responder, since when
it is active, its last heartbeat, and its message. A responder without a heartbeat for 20 minutes
loses its turn to the next one; the last one evicts, within the pod's PodDisruptionBudgets.

-o wide adds when the responder expects to be done, the node of the pod, and the name of the
Eviction. On a terminal that is too narrow, what does not fit stands below the line.`,
		Example: `  kubectl slipway evictions -n shop
  kubectl slipway evictions -A -o wide
  kubectl slipway evictions -A -o json | jq '.items[] | select(.state == "failed")'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			rows, err := listEvictions(command.Context(), t, all, output.Format != cli.Human)
			if err != nil {
				return err
			}
			return showEvictions(t, output, rows, all)
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "the pods of all namespaces")
	output = cli.AddShow(command.Flags())
	return command
}

// listEvictions reads the evictions in the namespace of the flags, or in all. It reads the pods,
// for their nodes, only if these are shown: there may be many pods.
func listEvictions(ctx context.Context, t *cli.Tool, all, nodes bool) ([]evictionRow, error) {
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
	rows := evictionRows(cli.Pointers(requests.Items), cli.Pointers(evictions.Items), nil)
	if len(rows) == 0 || !nodes {
		return rows, nil
	}
	pods, err := readPods(ctx, t, clients, namespace)
	if err != nil {
		return nil, err
	}
	return evictionRows(cli.Pointers(requests.Items), cli.Pointers(evictions.Items), pods), nil
}

// readPods reads the pods, for their nodes. Without permission, it notes that the nodes are unknown.
func readPods(ctx context.Context, t *cli.Tool, clients kubernetes.Interface, namespace string) ([]corev1.Pod, error) {
	pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		t.Notef("You may not list pods, so their nodes are not known.")
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list pods: %w", err)
	default:
		return pods.Items, nil
	}
}

func showEvictions(t *cli.Tool, o *cli.Output, rows []evictionRow, namespaces bool) error {
	var names []string
	for i := range rows {
		names = append(names, "pod/"+rows[i].Pod)
	}
	return t.Print(o, cli.View{Value: cli.List(rows), Names: names, Human: func(out io.Writer, style ui.Style, wide bool) error {
		text := "No eviction of a pod is requested.\n"
		if len(rows) > 0 {
			text = evictionTable(rows, style, t.Clock.Now(), namespaces, wide)
		}
		_, err := fmt.Fprint(out, text)
		return err
	}})
}
