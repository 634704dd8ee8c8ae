// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podNames reads arguments that are names of pods: cart-0, or pod/cart-0.
func podNames(args []string) ([]string, error) {
	var all []string
	for _, arg := range args {
		kind, name, found := strings.Cut(arg, "/")
		if !found {
			kind, name = "pod", arg
		}
		if !slices.Contains([]string{"pod", "pods", "po"}, kind) || name == "" {
			return nil, usage("%q is no pod: give its name, such as cart-0", arg)
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return nil, usage("say which pods, by name")
	}
	return all, nil
}

// completePods suggests the names of pods of the namespace that are not named yet.
func (t *tool) completePods(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeout(command.Context(), patience)
	defer cancel()
	clients, namespace, err := t.evictionClients()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, pod := range pods.Items {
		if strings.HasPrefix(pod.Name, begun) && !slices.Contains(args, pod.Name) {
			names = append(names, pod.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// noSuchPod is that a pod is not there.
func noSuchPod(namespace, name string) error {
	return fmt.Errorf("there is no pod %s in namespace %s; -n says another namespace", name, namespace)
}
