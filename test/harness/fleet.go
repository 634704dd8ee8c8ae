// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// Fleet creates simulated nodes in the group, one for each set of labels, and returns their
// names when all are ready: kwok knows them, and runs pods that are bound to them. What is
// promised of them is not checked, unless the test says so: [Env.KeepAllPromises].
func (e *Env) Fleet(t *testing.T, group string, labels []map[string]string) []string {
	t.Helper()
	nodes := e.createNodes(t, group, labels, func(node *corev1.Node) {
		node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
	})
	e.AwaitAll(t, "node", &corev1.NodeList{}, nodes, func(o client.Object) bool {
		for _, c := range o.(*corev1.Node).Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}, client.MatchingLabels{GroupLabel: group})
	return nodes
}

// Bystanders creates nodes that nobody simulates: they say that they are Ready, and nothing
// ever happens on them. They stay Ready where the control plane is patient.
func (e *Env) Bystanders(t *testing.T, group string, count int) []string {
	t.Helper()
	return e.createNodes(t, group, make([]map[string]string, count), func(node *corev1.Node) {
		node.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}
	})
}

// atATime is how many requests the harness makes side by side.
const atATime = 16

func (e *Env) createNodes(t *testing.T, group string, labels []map[string]string, change func(*corev1.Node)) (names []string) {
	t.Helper()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("500"),
	}
	var nodes []*corev1.Node
	for i := range labels {
		name := fmt.Sprintf("%s-%d", group, nodeCount.Add(1))
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{GroupLabel: group, corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
			},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
		}
		maps.Copy(node.Labels, labels[i])
		change(node)
		nodes, names = append(nodes, node), append(names, name)
	}
	t.Cleanup(func() {
		all := client.MatchingLabels{GroupLabel: group}
		_ = e.Client.DeleteAllOf(context.Background(), &corev1.Node{}, all) // the cluster may be gone already
	})
	SideBySide(t, len(nodes), func(i int) error { return e.Client.Create(t.Context(), nodes[i]) })
	return names
}

// SideBySide does something many times, some at a time, and fails the test if one fails.
func SideBySide(t *testing.T, times int, do func(i int) error) {
	t.Helper()
	var doing sync.WaitGroup
	turns := make(chan int)
	for range min(atATime, times) {
		doing.Go(func() {
			for i := range turns {
				if err := do(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range times {
		turns <- i
	}
	close(turns)
	doing.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// AwaitAll waits until each of the named objects has been as wanted.
func (e *Env) AwaitAll(t *testing.T, what string, list client.ObjectList, names []string, wanted func(client.Object) bool, options ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	_, err := watchtools.UntilWithSync(ctx, lister(e, list, options), nil, nil, func(event watch.Event) (bool, error) {
		if o, ok := event.Object.(client.Object); ok && event.Type != watch.Deleted && wanted(o) {
			delete(missing, o.GetName())
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		t.Fatalf("waiting until each %s is as wanted: %v; not yet %v", what, err, missing)
	}
}

// KeepAllPromises has the audit log judged when the test ends, for all nodes, from now on.
// What runs on the cluster is to be stopped by then: cleanups run in the opposite order. The
// options are asked for then.
func (e *Env) KeepAllPromises(t *testing.T, options func() auditcheck.Options) {
	t.Helper()
	from := e.changesSoFar(t)
	t.Cleanup(func() {
		broken, err := e.broken(from, options())
		if err != nil {
			t.Errorf("whether promises were kept: %v", err)
		}
		for _, violation := range broken {
			t.Errorf("promise broken: %s", violation)
		}
	})
}
