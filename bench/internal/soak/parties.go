// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// floodNamespace is the namespace of the editor, and of ConfigMaps.
const floodNamespace = "flood"

// attempt makes one request. The number is different for each.
type attempt func(ctx context.Context, number int) error

// party sends requests of one user.
type party struct {
	name    string
	attempt attempt
	// bytes is the size of a request, about.
	bytes int
}

// The largest metadata and parameters that admission accepts (policy object-sizes, driver transitions, MaxParametersBytes).
const (
	largeMetadata   = 30 << 10
	largeTransition = 7 << 10
	largeNode       = 200 << 10
)

func filling(bytes int) string { return strings.Repeat("x", bytes) }

// The parties. A party on a node is on the first one.
const (
	ofAgent    = "the token of a node's agent"
	ofEditor   = "the editor of a namespace"
	ofOperator = "an operator"
	ofDaemon   = "a daemon with `nodes/status`"
	ofDriver   = "a driver"
)

var partyNames = []string{ofAgent, ofEditor, ofOperator, ofDaemon, ofDriver}

// party returns a party by its name.
func (g *flood) party(ctx context.Context, name string) (p *party, err error) {
	if err := g.permit(ctx); err != nil {
		return nil, fmt.Errorf("give the parties their permissions: %w", err)
	}
	node := g.Nodes[0]
	config := g.as("flood-editor", nil)
	switch name {
	case ofAgent:
		config, err = g.AgentConfig(ctx, node)
	case ofOperator:
		config = g.as("slipway-operator", nil)
	case ofDaemon:
		config = g.as("flood-daemon", nil)
	case ofDriver:
		config = g.as("slipway-driver", map[string][]string{"authentication.kubernetes.io/node-name": {node}})
	}
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.ContentType = -1, runtime.ContentTypeJSON
	c, err := client.New(config, client.Options{Scheme: g.Objects.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("build the client of a party: %w", err)
	}
	switch name {
	case ofEditor:
		return &party{name, floodNamespaced(c), largeMetadata}, nil
	case ofOperator:
		return &party{name, eventsOf(c, node), 2 * largeMetadata}, nil
	case ofDaemon:
		return &party{name, g.floodNodes(c), largeNode}, nil
	default:
		return &party{name, transitionsOf(c, node), largeTransition}, nil
	}
}

// permit gives the users of the parties their permissions.
func (g *flood) permit(ctx context.Context) error {
	rbac := g.Clients.RbacV1()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: floodNamespace}}
	_, err := g.Clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	errs := []error{err}
	_, err = rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "flood-daemon"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}}},
	}, metav1.CreateOptions{})
	errs = append(errs, err)
	for _, role := range []string{"edit", "slipway-evictions-editor"} {
		_, err = rbac.RoleBindings(floodNamespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "flood-" + role}, RoleRef: clusterRole(role), Subjects: users("flood-editor"),
		}, metav1.CreateOptions{})
		errs = append(errs, err)
	}
	for _, role := range []string{"flood-daemon", "slipway-operator", "slipway-driver"} {
		_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "flood-" + role}, RoleRef: clusterRole(role), Subjects: users(role),
		}, metav1.CreateOptions{})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

// as returns credentials of a user.
func (g *flood) as(user string, extra map[string][]string) *rest.Config {
	config := g.Config("slipway-bench")
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Extra: extra}
	return config
}

func users(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
}

func floodMeta(number, annotations int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: fmt.Sprintf("flood-%d", number), Annotations: map[string]string{"example.com/flood": filling(annotations)},
	}
}

// transitionsOf publishes transitions of a node.
func transitionsOf(c client.Client, node string) attempt {
	return func(ctx context.Context, number int) error {
		t := &lifecyclev1alpha1.LifecycleTransition{ObjectMeta: floodMeta(number, largeTransition)}
		t.Spec = lifecyclev1alpha1.LifecycleTransitionSpec{NodeName: node, Driver: "flood.example.com", Start: "flood-started", End: "flood-complete"}
		return c.Create(ctx, t)
	}
}

// floodNamespaced creates DrainRules and EvictionRequests in turns.
func floodNamespaced(c client.Client) attempt {
	return func(ctx context.Context, number int) error {
		if number%2 == 0 {
			rule := &slipwayv1alpha1.DrainRule{ObjectMeta: floodMeta(number, largeMetadata)}
			rule.Namespace, rule.Spec.Behavior = floodNamespace, slipwayv1alpha1.DrainSkip
			rule.Spec.PodSelector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{fmt.Sprint(number)}},
			}}
			return c.Create(ctx, rule)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: floodNamespace, Name: fmt.Sprintf("pod-%d", number), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", number))}}
		request := testbed.EvictionRequestOf(pod, fmt.Sprintf("flood-%d", number), "flood.example.com/editor")
		request.Annotations = floodMeta(number, largeMetadata).Annotations
		return c.Create(ctx, request)
	}
}

// eventsOf requests drains of a node that never begin.
func eventsOf(c client.Client, node string) attempt {
	return func(ctx context.Context, number int) error {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: floodMeta(number, largeMetadata)}
		e.Spec = lifecyclev1alpha1.LifecycleEventSpec{
			TransitionName: testbed.Drain, BindingNode: node, Gates: []lifecyclev1alpha1.Gate{{Name: "example.com/flood"}},
			Parameters: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"hold":true%s}`, strings.Repeat(" ", lifecyclev1alpha1.MaxParametersBytes-100))},
		}
		return c.Create(ctx, e)
	}
}

// floodNodes writes the status of all Nodes, with conditions and large annotations.
func (g *flood) floodNodes(c client.Client) attempt {
	text := filling(largeNode)
	return func(ctx context.Context, number int) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: g.Nodes[number%len(g.Nodes)]}}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/flood":"%d %s"}},"status":{"conditions":[{"type":"Flood%d","status":"True","message":%q}]}}`,
			number, text, number%50, text[:16<<10])
		return c.Status().Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, patch))
	}
}
