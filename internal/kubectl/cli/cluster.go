// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// Cluster is the cluster of the flags.
type Cluster struct {
	Config *rest.Config
	HTTP   *http.Client
	// Home is the API group of its LifecycleEvents.
	Home apigroup.Home
}

// Reach finds the cluster of the flags. It sends no request: Home is not known yet.
func (t *Tool) Reach() (Cluster, error) {
	config, err := t.Flags.ToRESTConfig()
	if err != nil {
		return Cluster{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // as in kubectl
	config.UserAgent = "kubectl-slipway"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return Cluster{}, fmt.Errorf("build a client: %w", err)
	}
	return Cluster{Config: config, HTTP: client}, nil
}

// Connect is [Tool.Reach], and finds Home. Without Slipway on the cluster, the error is
// [slipwayclient.ErrNotInstalled], and the rest of the Cluster works.
func (t *Tool) Connect(ctx context.Context) (Cluster, error) {
	c, err := t.Reach()
	if err != nil {
		return c, err
	}
	c.Home, err = apigroup.Find(ctx, c.Config, c.HTTP)
	switch {
	case errors.Is(err, slipwayclient.ErrNotInstalled):
		return c, notInstalledError{}
	case err != nil:
		return c, fmt.Errorf("find Slipway on the cluster: %w", err)
	default:
		return c, nil
	}
}

// notInstalledError is [slipwayclient.ErrNotInstalled], with the remedy.
type notInstalledError struct{}

func (notInstalledError) Error() string {
	return "Slipway is not on this cluster; 'kubectl slipway install' shows what it would create there, and asks"
}

func (notInstalledError) Unwrap() error { return slipwayclient.ErrNotInstalled }

// Client returns a client for Nodes and the kinds of Slipway.
func (c Cluster) Client() (client.WithWatch, error) { return c.client(c.Config) }

func (c Cluster) client(config *rest.Config) (client.WithWatch, error) {
	scheme, mapper, err := follow.Kinds(c.Home)
	if err != nil {
		return nil, err
	}
	built, err := client.NewWithWatch(config, client.Options{HTTPClient: c.HTTP, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return built, nil
}

// Kubernetes returns a client for the kinds of Kubernetes.
func (c Cluster) Kubernetes() (kubernetes.Interface, error) {
	clients, err := kubernetes.NewForConfigAndClient(c.Config, c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return clients, nil
}

// Open is [Tool.Connect], with a client. The API server's warnings go to the error output.
func (t *Tool) Open(ctx context.Context) (Cluster, client.WithWatch, error) {
	c, err := t.Connect(ctx)
	if err != nil {
		return c, nil, err
	}
	config := rest.CopyConfig(c.Config)
	config.WarningHandler = rest.NewWarningWriter(t.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	built, err := c.client(config)
	return c, built, err
}

// ResourceName returns the name of a LifecycleEvent as kubectl has it.
func (c Cluster) ResourceName(event string) string {
	return fmt.Sprintf("lifecycleevent.%s/%s", c.Home.Group(), event)
}

// Watched returns the Cluster for package follow.
func (c Cluster) Watched() follow.Cluster {
	return follow.Cluster{Config: c.Config, HTTP: c.HTTP, Home: c.Home}
}

// Caller returns the user name of the caller, from the API server.
func (c Cluster) Caller(ctx context.Context) (string, error) {
	clients, err := c.Kubernetes()
	if err != nil {
		return "", err
	}
	review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// Leases has the leases of the nodes of a cluster.
type Leases struct {
	*nodelease.Client
	Cluster
}

// Leases returns the leases of the cluster of the flags.
func (t *Tool) Leases() (Leases, error) {
	c, err := t.Reach()
	if err != nil {
		return Leases{}, err
	}
	clients, err := c.Kubernetes()
	return Leases{nodelease.New(clients, t.Clock), c}, err
}

// User returns the user name of the caller.
func (l Leases) User(ctx context.Context) (string, error) {
	user, err := l.Caller(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the API server for your user name, which holds the lease; --holder gives another name: %w", err)
	}
	return user, nil
}

// Find returns the maintenances that want the node ([WantedBy]), and an error if the node does not exist. A caller without
// permission to read Nodes gets no error.
func (l Leases) Find(ctx context.Context, name string) (wanted string, err error) {
	clients, err := l.Kubernetes()
	if err != nil {
		return "", err
	}
	switch node, err := clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return "", NoSuchNode(name)
	case apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("get node %s: %w", name, err)
	default:
		return WantedBy(node), nil
	}
}

// AdministratorOf returns the holder of a lease that never expires, for a user.
func AdministratorOf(user string) string { return nodelease.AdministratorPrefix + "-" + user }
