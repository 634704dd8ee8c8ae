// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/test/harness"
)

// What an agent may do to other nodes than its own: nothing, whatever it tries.
func TestAnAgentHasNoRightsOnOtherNodes(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	own, other := env.Node(t, "rights"), env.Node(t, "rights")
	ownPod, otherPod := own.Pod("rights-own", quick()), other.Pod("rights-other", quick())
	self := own.Credentials()
	asNode, _, err := identity.For(t.Context(), self, own.Name, identity.ActAsNode)
	if err != nil {
		t.Fatal(err)
	}
	asOther := rest.CopyConfig(self)
	asOther.Impersonate.UserName = "system:node:" + other.Name
	cordon := []byte(`{"spec":{"unschedulable":true}}`)

	for name, tc := range map[string]struct {
		config *rest.Config
		try    func(context.Context, kubernetes.Interface) error
		want   string // part of the refusal; empty: it is allowed
	}{
		"it lists the pods of its node": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error { return listPods(ctx, c, own.Name) }, "",
		},
		"it lists the pods of another node": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error { return listPods(ctx, c, other.Name) },
			"can only list/watch pods with spec.nodeName field selector",
		},
		"it lists all pods": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error { return listPods(ctx, c, "") },
			"can only list/watch pods with spec.nodeName field selector",
		},
		"it lists the pods of its node as itself": {
			self, func(ctx context.Context, c kubernetes.Interface) error { return listPods(ctx, c, own.Name) },
			`cannot list resource "pods"`,
		},
		"it evicts a pod of another node": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error { return evict(ctx, c, otherPod) },
			"node " + own.Name + " can only evict pods with spec.nodeName set to itself",
		},
		"it evicts a pod of its node as itself": {
			self, func(ctx context.Context, c kubernetes.Interface) error { return evict(ctx, c, ownPod) },
			`cannot create resource "pods/eviction"`,
		},
		"it cordons another node": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error {
				_, err := c.CoreV1().Nodes().Patch(ctx, other.Name, types.MergePatchType, cordon, metav1.PatchOptions{})
				return err
			},
			`node "` + own.Name + `" is not allowed to modify node "` + other.Name + `"`,
		},
		"it acts as another node": {
			asOther, func(ctx context.Context, c kubernetes.Interface) error { return listPods(ctx, c, other.Name) },
			"cannot impersonate",
		},
		// Escalation, which an event must ask for, deletes pods whatever their budgets say.
		"it deletes a pod of its node": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error { return remove(ctx, c, ownPod) }, "",
		},
		"it deletes a pod of another node": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error { return remove(ctx, c, otherPod) },
			`node "` + own.Name + `" can only delete pods with spec.nodeName set to itself`,
		},
		"it deletes a pod of its node as itself": {
			self, func(ctx context.Context, c kubernetes.Interface) error { return remove(ctx, c, ownPod) },
			`cannot delete resource "pods"`,
		},
		"it reads a volume claim that no pod of its node has": {
			asNode, func(ctx context.Context, c kubernetes.Interface) error {
				_, err := c.CoreV1().PersistentVolumeClaims(ownPod.Namespace).Get(ctx, "others", metav1.GetOptions{})
				return err
			},
			"no relationship found between node '" + own.Name + "' and this object",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			err = tc.try(t.Context(), client)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("it may not: %v", err)
			case tc.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got error %v; want that it is forbidden: %q", err, tc.want)
			}
		})
	}
	env.Untouched(t, ownPod, otherPod)
}

func listPods(ctx context.Context, c kubernetes.Interface, node string) error {
	options := metav1.ListOptions{}
	if node != "" {
		options.FieldSelector = "spec.nodeName=" + node
	}
	_, err := c.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
	return err
}

func evict(ctx context.Context, c kubernetes.Interface, pod *corev1.Pod) error {
	return c.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
	})
}

// remove asks for a deletion that is not done.
func remove(ctx context.Context, c kubernetes.Interface, pod *corev1.Pod) error {
	return c.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// An agent with the credentials of another node does not start: it would act on the
// wrong one.
func TestAnAgentWithTheTokenOfAnotherNodeDoesNotStart(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node, other := env.Node(t, "token"), env.Node(t, "token")
	said := node.Agent("", "--kubeconfig="+other.Kubeconfig()).AwaitExit()
	if want := `names node "` + other.Name + `", not node "` + node.Name + `"`; !strings.Contains(said, want) {
		t.Errorf("it said %q; want %q", said, want)
	}
}
