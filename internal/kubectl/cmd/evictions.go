// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newEvictions(t *tool) *cobra.Command {
	var all bool
	var output *outputFlag
	command := &cobra.Command{
		Use:   "evictions [-n NAMESPACE | -A]",
		Short: "Show the pods that somebody asks to have evicted, and who responds",
		Long: `Shows the pods of EvictionRequests (KEP-4563): who asks, whose turn it is to respond, since
when, when it was heard of last, and what it says. A responder that is not heard of for 20
minutes loses its turn to the next one; the last of all evicts, within the pod's budgets.

-o wide says besides when the responder thinks to be done, on which node the pod is, and the
name of the Eviction. On a terminal that is too narrow, what does not fit is below the line.`,
		Example: `  kubectl slipway evictions -n shop
  kubectl slipway evictions -A -o wide
  kubectl slipway evictions -A -o json | jq '.[] | select(.state == "failed")'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			rows, err := t.readEvictions(command.Context(), all, output.format != people)
			if err != nil {
				return err
			}
			return t.printEvictions(output.format, rows, all)
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "those of all namespaces")
	output = addOutput(command.Flags(), jsonText, yamlText, wide)
	return command
}

// readEvictions reads what there is in the namespace of the flags, or in all; with the nodes
// of the pods only if they are shown, as that may be many pods.
func (t *tool) readEvictions(ctx context.Context, all, nodes bool) ([]evictionRow, error) {
	clients, namespace, err := t.evictionClients()
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
	rows := evictionRows(pointers(requests.Items), pointers(evictions.Items), nil)
	if len(rows) == 0 || !nodes {
		return rows, nil
	}
	pods, err := t.readPods(ctx, clients, namespace)
	if err != nil {
		return nil, err
	}
	return evictionRows(pointers(requests.Items), pointers(evictions.Items), pods), nil
}

// readPods is for the nodes of pods. Who may not read pods sees no nodes.
func (t *tool) readPods(ctx context.Context, clients kubernetes.Interface, namespace string) ([]corev1.Pod, error) {
	pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintln(t.ErrOut, "You may not list pods, so their nodes are not known.")
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list pods: %w", err)
	default:
		return pods.Items, nil
	}
}

func (t *tool) printEvictions(f format, rows []evictionRow, namespaces bool) error {
	if f == jsonText || f == yamlText {
		return encode(t.Out, f, rows)
	}
	if len(rows) == 0 {
		t.say("Nobody asks for the eviction of a pod.\n")
		return nil
	}
	columns := evictionColumns{namespaces: namespaces, wide: f == wide}
	_, err := fmt.Fprint(t.Out, evictionTable(rows, ui.StyleOf(t.Out, os.Getenv), t.clock.Now(), columns))
	return err
}
