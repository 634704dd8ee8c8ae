// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
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

// floodLabel marks the objects of a flood.
const floodLabel = "bench.slipway.dev/flood"

// attempt makes one request. The number is different for each.
type attempt func(ctx context.Context, number int) error

// party sends requests of one user.
type party struct {
	name    string
	attempt attempt
	// bytes is the size of a request, about.
	bytes int
	// clean removes the objects of the flood.
	clean func(ctx context.Context) error
}

// The largest metadata and parameters that admission accepts (policy object-sizes, driver transitions, MaxParametersBytes).
const (
	largeMetadata   = 30 << 10
	largeTransition = 7 << 10
	largeNode       = 200 << 10
	// floodConditions is the number of condition types that a daemon writes.
	floodConditions = 50
)

func filling(bytes int) string { return strings.Repeat("x", bytes) }

// parties returns all parties. A party on a node is on the first one.
func (g *flood) parties(ctx context.Context) ([]party, error) {
	node := g.Nodes[0]
	agent, err := g.AgentConfig(ctx, node)
	if err := errors.Join(err, g.permit(ctx)); err != nil {
		return nil, fmt.Errorf("prepare the parties: %w", err)
	}
	ofNode := map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	var parties []party
	add := func(name string, config *rest.Config, bytes int, build func(client.Client) attempt, clean func(context.Context) error) {
		config = rest.CopyConfig(config)
		config.QPS, config.ContentType = -1, runtime.ContentTypeJSON
		c, clientErr := client.New(config, client.Options{Scheme: g.Objects.Scheme()})
		if err = errors.Join(err, clientErr); clientErr == nil {
			parties = append(parties, party{name, build(c), bytes, clean})
		}
	}
	add("the token of a node's agent", agent, largeTransition, func(c client.Client) attempt { return transitionsOf(c, node) }, g.cleaner(&lifecyclev1alpha1.LifecycleTransition{}))
	add("the editor of a namespace", g.as("flood-editor", nil), largeMetadata, floodNamespaced, g.cleaner(&slipwayv1alpha1.DrainRule{}, &evictionv1alpha1.EvictionRequest{}))
	add("an operator", g.as("slipway-operator", nil), 2*largeMetadata, func(c client.Client) attempt { return eventsOf(c, node) }, g.cleaner(&lifecyclev1alpha1.LifecycleEvent{}))
	add("a daemon with `nodes/status`", g.as("flood-daemon", nil), largeNode, g.floodNodes, g.cleanNodes)
	add("a driver", g.as("slipway-driver", ofNode), largeTransition, func(c client.Client) attempt { return transitionsOf(c, node) }, g.cleaner(&lifecyclev1alpha1.LifecycleTransition{}))
	return parties, err
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
		Name: fmt.Sprintf("flood-%d", number), Labels: map[string]string{floodLabel: "true"}, Annotations: map[string]string{"example.com/flood": filling(annotations)},
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
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: floodNamespace, Name: fmt.Sprintf("pod-%d", number), UID: types.UID(fmt.Sprint(number))}}
		request := testbed.EvictionRequestOf(pod, fmt.Sprintf("flood-%d", number), "flood.example.com/editor")
		meta := floodMeta(number, largeMetadata)
		request.Labels, request.Annotations = meta.Labels, meta.Annotations
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
			number, text, number%floodConditions, text[:16<<10])
		return c.Status().Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, patch))
	}
}

// cleanNodes removes what floodNodes has written.
func (g *flood) cleanNodes(ctx context.Context) error {
	var conditions []string
	for i := range floodConditions {
		conditions = append(conditions, fmt.Sprintf(`{"$patch":"delete","type":"Flood%d"}`, i))
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/flood":null}},"status":{"conditions":[%s]}}`, strings.Join(conditions, ","))
	for _, name := range g.Nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := g.Objects.Status().Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
			return err
		}
	}
	return nil
}

// cleaner removes the objects of a flood of some kinds.
func (g *flood) cleaner(kinds ...client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, kind := range kinds {
			options := []client.DeleteAllOfOption{client.HasLabels{floodLabel}, client.PropagationPolicy(metav1.DeletePropagationBackground)}
			switch kind.(type) {
			case *slipwayv1alpha1.DrainRule, *evictionv1alpha1.EvictionRequest:
				options = append(options, client.InNamespace(floodNamespace))
			}
			// The API server ends a request after a minute, in which it deletes thousands of objects.
			var err error
			for range 20 {
				if err = g.Objects.DeleteAllOf(ctx, kind, options...); err == nil {
					break
				}
			}
			if err != nil {
				return fmt.Errorf("delete the objects of a flood: %w", err)
			}
		}
		return nil
	}
}
