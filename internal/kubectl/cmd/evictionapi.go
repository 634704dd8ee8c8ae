// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// errNoEvictionAPI is that there are no EvictionRequests on the cluster.
var errNoEvictionAPI = errors.New("this cluster does not serve EvictionRequests (lifecycle.k8s.io/v1alpha1): " +
	"'kubectl slipway install --eviction-requests' adds them, and who acts on them; or start the API server of " +
	"Kubernetes 1.37 with --feature-gates=EvictionRequestAPI=true --runtime-config=lifecycle.k8s.io/v1alpha1=true")

// evictionClients are clients for EvictionRequests, and the namespace of the flags. They
// need nothing of Slipway's on the cluster but these.
func (t *tool) evictionClients() (clients kubernetes.Interface, namespace string, err error) {
	c, err := t.reach()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err = t.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	config := rest.CopyConfig(c.config)
	config.ContentType = "application/json" // CRDs know nothing else
	clients, err = kubernetes.NewForConfigAndClient(config, c.http)
	if err != nil {
		return nil, "", fmt.Errorf("build a client: %w", err)
	}
	return clients, namespace, nil
}

// evictionTrouble is an error of a request about the kind itself, as people are told it.
func evictionTrouble(doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return errNoEvictionAPI
	}
	return fmt.Errorf("%s: %w", doing, err)
}
