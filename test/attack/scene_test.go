// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// The two nodes of a scene.
const (
	ofA = "A"
	ofB = "B"
)

// scene is what there is to get at. No agent runs on its nodes: nothing changes.
type scene struct {
	env     *harness.Env
	nodes   map[string]*harness.Node
	pods    map[string]*corev1.Pod
	secret  *corev1.Secret
	configs map[string]*rest.Config
	hands   map[string]hand

	// Events of each node: one that waits, one that is claimed and protected, one that has
	// ended; and of node A one that the controller has claimed.
	waiting, claimed, ended map[string]*lifecyclev1alpha1.LifecycleEvent
	central                 *lifecyclev1alpha1.LifecycleEvent
	// transitions are those of one node.
	transitions map[string]*lifecyclev1alpha1.LifecycleTransition
	// template and forbiddenTemplate are PodTemplates of Jobs; the controller may use the first one only.
	template, forbiddenTemplate string
}

const notWoundUp = "nobody works on the events of this test; they are only tried to be got at"

func newScene(t *testing.T) *scene {
	t.Helper()
	return newSceneOn(t, harness.Shared(t))
}

func newSceneOn(t *testing.T, env *harness.Env) *scene {
	t.Helper()
	s := &scene{
		env: env, nodes: map[string]*harness.Node{}, pods: map[string]*corev1.Pod{},
		configs: map[string]*rest.Config{}, hands: map[string]hand{},
		waiting: map[string]*lifecyclev1alpha1.LifecycleEvent{}, claimed: map[string]*lifecyclev1alpha1.LifecycleEvent{},
		ended: map[string]*lifecyclev1alpha1.LifecycleEvent{}, transitions: map[string]*lifecyclev1alpha1.LifecycleTransition{},
	}
	for _, name := range []string{ofA, ofB} {
		node := s.env.Node(t, "attack")
		s.nodes[name] = node
		s.pods[name] = node.Pod("attacked", harness.PodOptions{})
		s.addEvents(t, name)
		s.transitions[name] = s.transition(t, "own-"+node.Name, node.Name)
	}
	s.central = s.event(t, ofA, "central", func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.ClaimStatus = lifecyclev1alpha1.Claimed
		status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: "slipway-controller"}
	})
	s.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "attacked-", Namespace: metav1.NamespaceDefault}}
	s.create(t, s.secret)
	s.create(t, holdOn(s.nodes[ofA].Name))
	s.template, s.forbiddenTemplate = "reboot-"+s.nodes[ofA].Name, "wipe-"+s.nodes[ofA].Name
	s.env.JobTemplate(t, s.template, jobPod())
	s.create(t, &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: s.forbiddenTemplate, Namespace: harness.JobNamespace}, Template: jobPod()})
	s.addPeople(t)
	s.addAgents(t)
	s.addDriver(t)
	s.addDetector(t)
	return s
}

// addEvents adds the three events of a node.
func (s *scene) addEvents(t *testing.T, of string) {
	t.Helper()
	node := s.nodes[of]
	ours := &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: node.Name}
	s.waiting[of] = s.event(t, of, "waiting", nil)
	s.claimed[of] = s.event(t, of, "claimed", func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.ClaimStatus, status.ClaimedBy = lifecyclev1alpha1.Claimed, ours
	})
	s.ended[of] = s.event(t, of, "ended", func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.ClaimStatus = lifecyclev1alpha1.Failed
	})
	node.Expect(harness.Unfinished(s.waiting[of].Name, s.claimed[of].Name, s.ended[of].Name, node.EventName("central")), notWoundUp)
}

// event creates an event with a gate, and writes its status. One that is claimed is
// protected.
func (s *scene) event(t *testing.T, of, name string, change func(*lifecyclev1alpha1.LifecycleEventStatus)) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	node := s.nodes[of]
	event := node.Event(node.EventName(name), harness.Drain, harness.Gates(approval), func(e *lifecyclev1alpha1.LifecycleEvent) {
		if name == "claimed" {
			e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
		}
	})
	t.Cleanup(func() { // or else its deletion would wait for an agent
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		_ = s.env.Client.Patch(context.Background(), event.DeepCopy(), patch)
	})
	if change != nil {
		change(&event.Status)
		if err := s.env.Client.Status().Update(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	return event
}

// approval is a gate that is not Slipway's.
const approval = "example.com/approval"

// transition creates one of a single node.
func (s *scene) transition(t *testing.T, name, node string) *lifecyclev1alpha1.LifecycleTransition {
	t.Helper()
	transition := transitionOf(name)
	transition.Spec.NodeName = node
	s.create(t, transition)
	return transition
}

func transitionOf(name string) *lifecyclev1alpha1.LifecycleTransition {
	return &lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Start: "begun", End: "done", Driver: "example.com/attack"},
	}
}

func (s *scene) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := s.env.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.env.DeleteQuietly(object) })
}
