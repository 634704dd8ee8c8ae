// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/test/harness"
)

// trouble is how a drain is held up, what explain is to say of it, and what then is done.
// In texts, APP, NODE, POD and EVENT stand for the names of the scene.
type trouble struct {
	// dark: nobody plays the node's kubelet.
	dark bool
	// begin makes it, and begins the drain.
	begin func(*scene)
	// object and by are what the cause is to name. details are to be in its details.
	object, by string
	details    []string
	// run is a part of the command that is run as it is printed. Empty: it is for people.
	run string
	// act is what people do, where no command does it alone.
	act func(*scene)
	// over waits until the drain has moved on. Nil: until it has succeeded.
	over func(*scene)
}

func (tr trouble) test(t *testing.T, name string) {
	t.Helper()
	code, _, _ := strings.Cut(name, " ")
	s := newScene(t, strings.ToLower(strings.ReplaceAll(name, " ", "-")), !tr.dark)
	tr.begin(s)
	c := s.explain(code)
	if object := s.named(tr.object); object != "" && !slices.Contains(c.Objects, object) {
		t.Errorf("it names %q, want %s", c.Objects, object)
	}
	if by := s.named(tr.by); c.By != by {
		t.Errorf("in the way is %q, want %q", c.By, by)
	}
	for _, want := range tr.details {
		if all := strings.Join(c.Details, "\n"); !strings.Contains(all, s.named(want)) {
			t.Errorf("the details do not say %q:\n%s", s.named(want), all)
		}
	}
	if c.Text == "" || c.Since == nil || !strings.HasPrefix(c.Reference, reasons.Page) {
		t.Errorf("the cause is not complete: %+v", c)
	}
	s.look(c)
	if tr.run != "" {
		s.do(c, tr.run)
	}
	if tr.act != nil {
		tr.act(s)
	}
	if tr.over == nil {
		s.succeeds()
		return
	}
	tr.over(s)
}

const ofPod = "Pod default/POD"

// budget is one that wants so many healthy pods of the scene.
const budget = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: NAME, namespace: default}, spec: {WANTS, selector: {matchLabels: {app: APP}}}}`

func (s *scene) budget(name, wants string) {
	s.Helper()
	s.apply(strings.NewReplacer("NAME", name, "WANTS", wants).Replace(budget))
	harness.Await(s.T, s.env, "budget "+s.named(name)+" was looked at by its controller", &policyv1.PodDisruptionBudgetList{},
		func(b *policyv1.PodDisruptionBudget) bool {
			failed := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
			return b.Status.ObservedGeneration == b.Generation && b.Status.CurrentHealthy > 0 || failed != nil && failed.Reason == policyv1.SyncFailedReason ||
				b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods == 0 && failed != nil
		}, harness.Named(s.named(name)))
}

// troubles are those that do not get into each other's way. A key is the code, and may
// have more after a space.
var troubles = map[string]trouble{
	"NodeNotCordoned": {
		begin: func(s *scene) {
			s.hasPod()
			s.budget("APP", "minAvailable: 1")
			s.drain()
			s.awaitBlocker("BudgetImpossible")
			s.kubectl("uncordon NODE")
			s.awaitBlocker("NodeNotCordoned")
		},
		object: "Node NODE", by: "Node NODE", run: "kubectl cordon",
		over: func(s *scene) {
			s.awaitNoBlocker("NodeNotCordoned")
			s.kubectl("delete pdb APP")
			s.succeeds()
		},
	},
	"BudgetExhausted": {
		begin: func(s *scene) {
			other := s.env.Node(s.T, s.app)
			s.podOn(other, harness.PodOptions{Ready: time.Hour, Gone: time.Second})
			s.hasPod()
			s.budget("APP", "minAvailable: 1")
			s.drain()
			s.awaitBlocker("BudgetExhausted")
		},
		object: ofPod, by: "PodDisruptionBudget default/APP",
		details: []string{"2 pods, 1 healthy, minAvailable 1 → needs 1 healthy, so 0 may be disrupted now", "is not Ready"},
		run:     "patch pdb",
	},
	"BudgetImpossible by a number": {
		begin: func(s *scene) {
			s.hasPod()
			s.budget("APP", "maxUnavailable: 0, minAvailable: null")
			s.kubectl(`patch pdb APP --type=merge -p '{"spec":{"maxUnavailable":null,"minAvailable":1}}'`)
			s.drain()
			s.awaitBlocker("BudgetImpossible")
		},
		object: ofPod, by: "PodDisruptionBudget default/APP",
		details: []string{"1 pod, 1 healthy, minAvailable 1 → needs 1 healthy, so 0 may be disrupted now"},
		run:     "patch pdb",
	},
	"BudgetImpossible by the replicas": {
		begin: func(s *scene) {
			s.env.Deployment(s.T, s.app, s.app, 1, harness.PodOptions{Gone: time.Second})
			s.budget("APP", "minAvailable: 1")
			s.env.Node(s.T, s.app)
			s.drain()
			s.awaitBlocker("BudgetImpossible")
		},
		by: "PodDisruptionBudget default/APP", run: "scale deployment",
	},
	"BudgetSyncFailed": {
		begin: func(s *scene) {
			s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: APP, namespace: default}}`)
			uid := s.kubectl(`get configmap APP -o jsonpath={.metadata.uid}`)
			s.hasPod(ownedBy(s.app, uid))
			s.budget("APP", "maxUnavailable: 50%")
			s.drain()
			s.awaitBlocker("BudgetSyncFailed")
		},
		object: ofPod, by: "PodDisruptionBudget default/APP", run: "patch pdb",
	},
	"MultipleBudgets": {
		begin: func(s *scene) {
			s.hasPod()
			s.budget("APP-a", "minAvailable: 0")
			s.budget("APP-b", "minAvailable: 0")
			s.drain()
			s.awaitBlocker("MultipleBudgets")
		},
		object: ofPod, by: "PodDisruptionBudget default/APP-a, PodDisruptionBudget default/APP-b", run: "delete pdb",
	},
	"Terminating": {
		begin: func(s *scene) {
			s.hasPod(func(p *corev1.Pod) { p.Finalizers = []string{"example.com/explain"} })
			s.drain()
			s.awaitBlocker("Terminating")
		},
		object: ofPod, by: "example.com/explain", details: []string{"set finalizer example.com/explain at"}, run: "patch pod",
	},
	"WaitingForCompletion": {
		begin: func(s *scene) {
			s.hasPod()
			s.apply(`{apiVersion: slipway.dev/v1alpha1, kind: DrainRule, metadata: {name: APP, namespace: default}, spec: {podSelector: {matchLabels: {app: APP}}, behavior: WaitCompleted}}`)
			s.drain()
			s.awaitBlocker("WaitingForCompletion")
		},
		object: ofPod, by: "DrainRule default/APP", run: "patch drainrule",
		act: func(s *scene) {
			s.kubectl(`patch pod POD --subresource=status --type=merge -p '{"status":{"phase":"Succeeded"}}'`)
		},
	},
	"Frozen": {
		begin: func(s *scene) {
			s.hasPod()
			s.kubectl("label node NODE frozen=APP")
			s.apply(`{apiVersion: slipway.dev/v1alpha1, kind: Freeze, metadata: {name: APP}, spec: {selector: {matchLabels: {frozen: APP}}, reason: sale}}`)
			s.drain()
			s.awaitBlocker("Frozen")
		},
		object: ofPod, by: "Freeze APP", run: "delete freeze",
	},
	"PodTimedOut": {
		begin: func(s *scene) {
			s.pod = s.podOn(s.node, harness.PodOptions{Gone: 20 * time.Second})
			s.apply(`{apiVersion: slipway.dev/v1alpha1, kind: DrainRule, metadata: {name: APP, namespace: default}, spec: {podSelector: {matchLabels: {app: APP}}, behavior: Evict, deadline: 1s}}`)
			s.drain()
			s.awaitBlocker("PodTimedOut")
		},
		object: ofPod, details: []string{"its grace period ends at"},
	},
	"UnmanagedPod": {
		begin: func(s *scene) {
			s.hasPod()
			s.drain(harness.RawParameters(`{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","unmanagedPods":"Refuse"}`))
			s.awaitBlocker("UnmanagedPod")
		},
		object: ofPod, run: "patch lifecycleevent",
	},
	"UnmanagedPod removed by its owner": {
		begin: func(s *scene) {
			s.hasPod()
			s.drain(harness.RawParameters(`{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","unmanagedPods":"Refuse"}`))
			s.awaitBlocker("UnmanagedPod")
		},
		object: ofPod, run: "delete pod",
	},
	"LocalStorage": {
		begin: func(s *scene) {
			s.hasPod(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			})
			s.drain(harness.RawParameters(`{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","localStorage":"Refuse"}`))
			s.awaitBlocker("LocalStorage")
		},
		object: ofPod, by: "Volume scratch", run: "patch lifecycleevent",
	},
	"VolumeAttached": {
		begin: func(s *scene) {
			s.hasPod()
			s.kubectl(`patch node NODE --subresource=status --type=merge -p '{"status":{"volumesAttached":[{"name":"kubernetes.io/csi/example.test^APP","devicePath":""}]}}'`)
			s.drain()
			s.awaitBlocker("VolumeAttached")
		},
		object: "Node NODE", by: "Volume kubernetes.io/csi/example.test^APP",
		act: func(s *scene) { // what the CSI driver and the attach controller do
			s.kubectl(`patch node NODE --subresource=status --type=merge -p '{"status":{"volumesAttached":null}}'`)
		},
	},
	"NodeNotReady": {
		dark: true,
		begin: func(s *scene) {
			s.pod = s.podOn(s.node, harness.PodOptions{Ready: time.Hour, Gone: time.Second})
			s.kubectl(`patch pod POD --subresource=status --type=merge -p '{"status":{"phase":"Running"}}'`)
			s.drain()
			s.awaitBlocker("NodeNotReady")
		},
		object: ofPod, by: "Node NODE", run: "kubectl taint node",
	},
	"NodeGone": {
		begin: func(s *scene) {
			s.node.Expect(harness.Unfinished(s.event), "without a controller, nobody ends the event of a Node that is gone")
			s.hasPod()
			s.budget("APP", "minAvailable: 1")
			s.drain()
			s.awaitBlocker("BudgetImpossible")
			s.kubectl("delete node NODE")
			s.awaitBlocker("NodeGone")
		},
		object: "Node NODE", by: "Node NODE", details: []string{ofPod + " is still bound to the node"},
		// The control plane removes the agent's pod as well, and with it its token: whether the agent
		// can still say that it is over, nobody knows.
		over: func(s *scene) {
			harness.AwaitNone[*corev1.Pod](s.T, s.env, &corev1.PodList{}, harness.Named(s.pod.Name), client.InNamespace(s.pod.Namespace))
		},
	},
	"EvictionRefused": {
		begin: func(s *scene) {
			s.hasPod()
			s.refuse("pods/eviction", "CREATE")
			s.drain()
			s.awaitBlocker("EvictionRefused")
		},
		object: ofPod, by: "ValidatingAdmissionPolicy APP", act: func(s *scene) { s.kubectl("delete validatingadmissionpolicybinding APP") },
	},
	"DeletionRefused": {
		begin: func(s *scene) {
			s.hasPod()
			s.budget("APP", "minAvailable: 1")
			s.refuse("pods", "DELETE")
			s.drain(harness.RawParameters(`{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","escalation":{"deleteAfter":"1s"}}`))
			s.awaitBlocker("DeletionRefused")
		},
		object: ofPod, by: "ValidatingAdmissionPolicy APP", act: func(s *scene) { s.kubectl("delete validatingadmissionpolicybinding APP") },
	},
	"EvictionTimedOut": {
		begin: func(s *scene) {
			s.hasPod()
			s.slowWebhook("true")
			s.awaitRefused("deadline")
			s.node.Agent("", "--builtin-drivers=")
			s.node.Driver("", "--eviction-timeout=1s")
			s.ask()
			s.awaitBlocker("EvictionTimedOut")
		},
		object: ofPod, act: func(s *scene) { s.kubectl("delete validatingwebhookconfiguration APP") },
	},
	"EvictionWithoutEffect": {
		begin: func(s *scene) {
			s.hasPod()
			s.dryRuns()
			s.drain()
			s.awaitBlocker("EvictionWithoutEffect")
		},
		object: ofPod, act: func(s *scene) { s.kubectl("delete mutatingadmissionpolicybinding APP") },
	},
	"APIServerOverloaded": {
		begin: func(s *scene) {
			s.hasPod()
			s.crowd()
			s.drain()
			s.awaitBlocker("APIServerOverloaded")
		},
		object: "Node NODE", act: func(s *scene) { s.kubectl("delete flowschema APP") },
	},
	"PodSkipped": {
		begin: func(s *scene) {
			s.hasPod()
			s.apply(`{apiVersion: slipway.dev/v1alpha1, kind: DrainRule, metadata: {name: APP, namespace: default}, spec: {podSelector: {matchLabels: {app: APP}}, behavior: Skip}}`)
			s.holdUntilLeft("PodSkipped")
		},
		object: ofPod, by: "DrainRule default/APP", run: "patch drainrule", over: release,
	},
	"PodRecurring": {
		begin: func(s *scene) {
			s.apply(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: APP, namespace: default}, spec: {replicas: 1, selector: {matchLabels: {app: APP}}, template: {
				metadata: {labels: {app: APP}}, spec: {nodeSelector: {slipway.test/group: APP}, terminationGracePeriodSeconds: 1, tolerations: [{operator: Exists}], containers: [{name: main, image: example.com/app:1}]}}}}`)
			harness.Await(s.T, s.env, "a pod of "+s.app+" is on the node", &corev1.PodList{}, func(p *corev1.Pod) bool {
				return p.Labels["app"] == s.app && p.Spec.NodeName == s.node.Name
			})
			s.holdUntilLeft("PodRecurring")
		},
		by: "ReplicaSet default/APP",
		act: func(s *scene) { // without the toleration, its next pod goes elsewhere
			s.kubectl(`patch replicaset APP --type=merge -p '{"spec":{"template":{"spec":{"tolerations":null}}}}'`)
			s.kubectl(`delete pod -l app=APP --wait=false`)
		},
		over: release,
	},
}

// holdUntilLeft begins a drain that goes on, and waits until it says what it leaves.
func (s *scene) holdUntilLeft(reason string) {
	s.Helper()
	s.drain(harness.RawParameters(`{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","hold":true}`))
	s.env.AwaitCondition(s.T, s.event, lifecyclev1alpha1.ConditionPodsLeft, reason)
}

// release waits until nothing is left behind, and lets the drain end.
func release(s *scene) {
	s.env.AwaitCondition(s.T, s.event, lifecyclev1alpha1.ConditionPodsLeft, "NoneLeft")
	s.env.AwaitCondition(s.T, s.event, lifecyclev1alpha1.ConditionTargetsReached, "Reached")
	s.node.Change(s.event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.Parameters = nil })
	s.succeeds()
}

func TestExplainNamesWhatHoldsADrainUpAndWhatItProposesHelps(t *testing.T) {
	for name, tr := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr.test(t, name)
		})
	}
}
