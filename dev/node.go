// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// checkNode fails with what to do where there is no such node, or no cluster.
func checkNode(ctx context.Context, config *rest.Config, node string) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	_, err = clients.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no node %q; 'bin/kubectl get nodes' lists those of the local cluster", node)
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("the local cluster does not answer; 'make up' starts what is missing of it: %w", err)
	default:
		return err
	}
}
