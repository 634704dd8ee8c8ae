// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// ByHand is how somebody puts manifests of static pods back on a machine, where nobody of Slipway's
// does any more.
const ByHand = "'mv -n .slipway/* .' in the kubelet's folder there"

// awayOn are the static pods that a Node says slipway-host has taken away.
func awayOn(node *corev1.Node) []string {
	if report := staticpod.ReportedOn(node); report != nil {
		return report.Away
	}
	return nil
}

// StaticPodsAway are the nodes of which static pods are away, while there is a slipway-host. Only
// who was told to take static pods away puts them back, and no release of plain manifests is.
func (c *Cluster) StaticPodsAway(ctx context.Context) (away []Node, err error) {
	hosts := ofKind("apps/v1", "DaemonSet")
	hosts.SetNamespace(release.Namespace)
	hosts.SetName(release.Hosts)
	if live, err := c.get(ctx, hosts); err != nil || live == nil {
		return nil, err
	}
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if pods := awayOn(&node); len(pods) > 0 {
			away = append(away, Node{Name: node.Name, Away: pods})
		}
	}
	return away, nil
}

// ForgetHosts takes off all nodes what slipway-host has said there, when it is gone.
func (c *Cluster) ForgetHosts(ctx context.Context) error {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if !nodestate.MarkedByHost(&node) {
			continue
		}
		if err := c.writer(node.Name).ForgetHost(ctx); err != nil {
			return err
		}
	}
	return nil
}

// putBack returns the nodes of which static pods are away while slipway-host is there, which then
// puts their manifests back, and waits for that. What is away still after patience, it tells; those
// nodes keep saying so.
func (c *Cluster) putBack(ctx context.Context, nodes []Node, patience time.Duration, tell func(string)) (lost map[string]bool, err error) {
	for _, node := range nodes {
		if len(node.Away) == 0 {
			continue
		}
		tell("returning node " + node.Name + ", whose static pods are away: " + strings.Join(node.Away, ", "))
		if err := c.release(ctx, node.Name); err != nil {
			return nil, err
		}
	}
	enough, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lost = map[string]bool{}
	for _, node := range nodes {
		if len(node.Away) == 0 {
			continue
		}
		o := ofKind("v1", "Node")
		o.SetName(node.Name)
		switch err := c.await(enough, o, allBack); {
		case err != nil && ctx.Err() == nil && enough.Err() != nil:
			lost[node.Name] = true
			tell("WARNING: nobody puts back the static pods of node " + node.Name + " (" + strings.Join(node.Away, ", ") +
				"): " + ByHand + " does; until somebody removes it, its annotation " + staticpod.HostAnnotation + " says so")
		case err != nil:
			return nil, fmt.Errorf("wait until the static pods of node %s are back: %w", node.Name, err)
		}
	}
	return lost, nil
}

// release takes our cordons off a node that is there.
func (c *Cluster) release(ctx context.Context, name string) error {
	_, err := c.writer(name).Return(ctx)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// allBack says whether no static pod of a Node is away; one that is gone has none.
func allBack(o *unstructured.Unstructured) bool {
	if o == nil {
		return true
	}
	var node corev1.Node
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &node) == nil && len(awayOn(&node)) == 0
}
