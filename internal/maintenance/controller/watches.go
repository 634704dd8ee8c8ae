// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/kubectl/pkg/util/podutils"
	"sigs.k8s.io/controller-runtime/pkg/log"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

const (
	// patience limits the wait for a watch that has yet to list its objects, which takes a while in a
	// large cluster: until then, the facts could hide a reason to start no node.
	patience = 30 * time.Second
	// lull is the time for which the watch of the pods that nodes keep away outlasts its last use, and
	// the start of the process: an API server may learn late that a Node keeps no pods away any longer,
	// and gate one more pod.
	lull = 10 * time.Minute

	// notEnded selects the pods that may still run.
	notEnded = "status.phase!=Failed,status.phase!=Succeeded"
	// onNodes selects the pods that run on a node: a PodDisruptionBudget can keep them there.
	onNodes = "spec.nodeName!=," + notEnded
	// onNoNode selects the pods that the scheduler has yet to place.
	onNoNode = "spec.nodeName=,status.phase=Pending"
)

// watches are the watches of pods and PodDisruptionBudgets. Each runs while a Decision needs it. Only
// the loop uses them, so they need no lock.
type watches struct {
	client  kubernetes.Interface
	changed func() func()

	// unready has, by node, the pods of DaemonSets that are not Ready on a node that has returned.
	unready map[string]*watch[string]
	// notReady has the pods that are Pending or not Ready. No selector knows readiness, so the watch
	// reads all pods that have not ended.
	notReady *watch[maintenance.NotReadyPod]
	keptAway *watch[maintenance.KeptPod]
	lullEnds time.Time // of keptAway
	// pods and budgets show which nodes share PodDisruptionBudgets. They only order nodes, so a change
	// causes no pass.
	pods    *watch[sharedpdbs.Pod]
	budgets *watch[sharedpdbs.Budget]
	byNode  map[string][]string // the budgets of each node, at these revisions of pods and budgets
	at      [2]int
	// unscheduled and statuses show deadlocks. No step waits for them.
	unscheduled *watch[*corev1.Pod]
	statuses    *watch[budgetStatus]
}

// budgetStatus is a PodDisruptionBudget with its status.
type budgetStatus struct {
	sharedpdbs.Budget
	status policyv1.PodDisruptionBudgetStatus
}

func newWatches(client kubernetes.Interface, changed func()) *watches {
	pdbs := client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll)
	budgets := watchstore.From("maintenances", &policyv1.PodDisruptionBudget{}, pdbs.List, pdbs.Watch)
	always, once := func() func() { return changed }, func() func() { return sync.OnceFunc(changed) }
	return &watches{
		client: client, changed: always, unready: map[string]*watch[string]{},
		notReady:    newWatch(podSource(client, notEnded, ""), maintenance.ReadNotReady, always),
		keptAway:    newWatch(podSource(client, "", slipwayv1alpha1.KeptAway+"=true"), readKept, always),
		pods:        newWatch(podSource(client, onNodes, ""), sharedpdbs.ReadPod, once),
		budgets:     newWatch(budgets, sharedpdbs.ReadBudget, once),
		unscheduled: newWatch(podSource(client, onNoNode, ""), readUnscheduled, always),
		statuses:    newWatch(budgets, readStatus, always),
	}
}

// follow starts the watches that a decision needs, until ctx ends, and ends the other ones. Until the
// time that it returns as wait, no step may be performed: the facts miss what a watch has yet to list.
// Next has to decide again at the time again, if that is not zero.
func (w *watches) follow(ctx context.Context, d maintenance.Decision, now time.Time) (wait, again time.Time) {
	for name, of := range w.unready {
		if !slices.Contains(d.Check, name) {
			of.run(ctx, false, now)
			delete(w.unready, name)
		}
	}
	for _, name := range d.Check {
		if w.unready[name] == nil {
			onNode := fields.OneTermEqualSelector("spec.nodeName", name).String()
			w.unready[name] = newWatch(podSource(w.client, onNode, ""), readUnready, w.changed)
			w.unready[name].run(ctx, true, now)
		}
	}
	if d.WatchKeptAway || w.lullEnds.IsZero() {
		w.lullEnds = now.Add(lull)
	}
	lasts := now.Before(w.lullEnds)
	w.keptAway.run(ctx, lasts, now)
	if lasts && !d.WatchKeptAway {
		again = w.lullEnds
	}
	w.unscheduled.run(ctx, d.Starving, now)
	w.statuses.run(ctx, d.Starving, now)
	w.notReady.run(ctx, d.CountPending, now)
	w.pods.run(ctx, d.Budgets, now)
	w.budgets.run(ctx, d.Budgets, now)
	wait = earliest(w.notReady.wait(ctx, "not-ready pods", now), w.pods.wait(ctx, "pods on nodes", now))
	return earliest(wait, w.budgets.wait(ctx, "PodDisruptionBudgets", now)), again
}

func (w *watches) close() {
	w.lullEnds = time.Unix(0, 0)
	w.follow(context.Background(), maintenance.Decision{}, time.Unix(1, 0))
}

// addTo adds to the facts what the watches show.
func (w *watches) addTo(facts *maintenance.Facts) {
	facts.NotReady, _ = w.notReady.list()
	maintenance.SortNotReady(facts.NotReady)
	var synced bool
	facts.KeptAway, synced = w.keptAway.list()
	facts.KeptAwayUnknown = w.keptAway.store != nil && !synced
	slices.SortFunc(facts.KeptAway, func(a, b maintenance.KeptPod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	pods, podsSynced := w.unscheduled.list()
	if budgets, budgetsSynced := w.statuses.list(); podsSynced && budgetsSynced {
		facts.Unscheduled, facts.BudgetStatuses = unscheduled(pods, budgets)
	}
}

// unreadyOn returns the pods of DaemonSets on a node that are not Ready, if the watch has listed them.
func (w *watches) unreadyOn(node string) (pods []string, known bool) {
	if of := w.unready[node]; of != nil {
		pods, known = of.list()
		slices.Sort(pods)
	}
	return pods, known
}

// budgetsByNode returns the budgets of the pods of each node, as namespace/name; nil while they are not
// known. The caller must not change them.
func (w *watches) budgetsByNode() map[string][]string {
	if !w.pods.synced() || !w.budgets.synced() {
		w.byNode = nil
		return nil
	}
	_, _, samePods := w.pods.store.Pick(nil, w.at[0])
	_, _, sameBudgets := w.budgets.store.Pick(nil, w.at[1])
	if w.byNode == nil || !samePods || !sameBudgets {
		pods, podsAt, _ := w.pods.store.ListRevision()
		budgets, budgetsAt, _ := w.budgets.store.ListRevision()
		w.byNode, w.at = sharedpdbs.ByNode(pods, budgets), [2]int{podsAt, budgetsAt}
	}
	return w.byNode
}

// watch keeps an item for each object, while the watch runs.
type watch[T any] struct {
	source   watchstore.Source
	newStore func() *watchstore.Store[T]

	store *watchstore.Store[T] // nil: the watch does not run
	stop  func()
	until time.Time // the end of the wait for the first list; zero: no step waits for it
}

// newWatch returns a watch. Each time that it starts, it takes a new function from changed, and calls it
// whenever it has listed all objects, or its content differs.
func newWatch[O, T any](source watchstore.Source, read func(O) (T, bool), changed func() func()) *watch[T] {
	return &watch[T]{source: source, newStore: func() *watchstore.Store[T] { return newStore(read, changed()) }}
}

func newStore[O, T any](read func(O) (T, bool), changed func()) *watchstore.Store[T] {
	return watchstore.New(watchstore.Options[T]{
		Convert: func(obj any) (item T, wanted bool) {
			if o, ok := obj.(O); ok {
				return read(o)
			}
			return item, false
		},
		Same: func(before, after T) bool { return reflect.DeepEqual(before, after) },
		Changed: func(c watchstore.Change[T]) {
			if c.Differs {
				changed()
			}
		},
	})
}

// run starts or ends the watch, which also ends with ctx.
func (w *watch[T]) run(ctx context.Context, wanted bool, now time.Time) {
	switch {
	case wanted && w.store == nil:
		store := w.newStore()
		w.stop = watchstore.Start(ctx, func(ctx context.Context) { watchstore.Fill(ctx, slimming[T]{store}, w.source) })
		w.store, w.until = store, now.Add(patience)
	case !wanted && w.store != nil:
		w.stop()
		w.store = nil
	}
}

func (w *watch[T]) list() (items []T, synced bool) {
	if w.store == nil {
		return nil, false
	}
	return w.store.List()
}

func (w *watch[T]) synced() bool { return w.store != nil && w.store.Synced() }

// wait returns the end of the wait for the first list; zero: the watch has it, does not run, or failed to
// list within its patience.
func (w *watch[T]) wait(ctx context.Context, what string, now time.Time) time.Time {
	switch {
	case w.store == nil || w.until.IsZero():
		return time.Time{}
	case w.synced():
	case now.Before(w.until):
		return w.until
	default:
		log.FromContext(ctx).Error(fmt.Errorf("list %s: no answer within %s", what, patience), "NodeMaintenances continue without these facts", "remedy", grant)
	}
	w.until = time.Time{}
	return time.Time{}
}

// podSource returns the slim pods that field and label selectors select; empty: all.
func podSource(client kubernetes.Interface, fields, labels string) watchstore.Source {
	pods := client.CoreV1().Pods(corev1.NamespaceAll)
	source := watchstore.From("maintenances", &corev1.Pod{}, pods.List, pods.Watch)
	source.Fields, source.Labels = fields, labels
	source.List = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := pods.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		for i := range list.Items { // at once: all pods of the cluster are in memory now
			list.Items[i] = *slimPod(&list.Items[i])
		}
		return list, nil
	}
	return source
}

// slimming is a Store whose Reflector slims pods before it keeps them.
type slimming[T any] struct{ *watchstore.Store[T] }

// Transformer implements cache.TransformingStore.
func (slimming[T]) Transformer() toolscache.TransformFunc {
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return slimPod(pod), nil
		}
		return o, nil
	}
}

// slimPod returns a pod with the fields that a Reflector and the functions below need.
func slimPod(pod *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
	}}
	if mirror, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		slim.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirror}
	}
	slim.Spec.NodeName, slim.Spec.RestartPolicy, slim.Status.Phase = pod.Spec.NodeName, pod.Spec.RestartPolicy, pod.Status.Phase
	if pod.Spec.NodeName == "" {
		slim.Spec.NodeSelector, slim.Spec.Tolerations, slim.Spec.SchedulingGates = pod.Spec.NodeSelector, pod.Spec.Tolerations, pod.Spec.SchedulingGates
		if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
			slim.Spec.Affinity = &corev1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled && pod.Spec.NodeName == "" {
			slim.Status.Conditions = append(slim.Status.Conditions, c)
		}
	}
	return slim
}

// readUnready returns the name of a pod that belongs to its node and is not Ready.
func readUnready(pod *corev1.Pod) (name string, wanted bool) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || !sharedpdbs.BelongsToNode(pod) {
		return "", false
	}
	return pod.Namespace + "/" + pod.Name, !podutils.IsPodReady(pod)
}

// readKept returns a pod of a DaemonSet that has no node and is not being deleted. The label alone proves
// nothing: the owner of a namespace may set it on any pod.
func readKept(pod *corev1.Pod) (kept maintenance.KeptPod, wanted bool) {
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !sharedpdbs.BelongsToNode(pod) {
		return maintenance.KeptPod{}, false
	}
	return maintenance.KeptPod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Node: nodeFor(pod),
		Gated: slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: slipwayv1alpha1.KeptAwayGate}),
	}, true
}

// nodeFor returns the node for which the DaemonSet controller created the pod.
func nodeFor(pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// readUnscheduled returns the node affinity, tolerations and scheduling condition of a pod without a node.
func readUnscheduled(pod *corev1.Pod) (slim *corev1.Pod, wanted bool) {
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || sharedpdbs.BelongsToNode(pod) {
		return nil, false
	}
	slim = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels}, Spec: pod.Spec}
	slim.Status.Conditions = pod.Status.Conditions
	return slim, true
}

// readStatus leaves out a PodDisruptionBudget that its controller has yet to observe.
func readStatus(pdb *policyv1.PodDisruptionBudget) (s budgetStatus, wanted bool) {
	b, wanted := sharedpdbs.ReadBudget(pdb)
	return budgetStatus{b, policyv1.PodDisruptionBudgetStatus{
		ExpectedPods: pdb.Status.ExpectedPods, DesiredHealthy: pdb.Status.DesiredHealthy, DisruptionsAllowed: pdb.Status.DisruptionsAllowed,
	}}, wanted && pdb.Status.ObservedGeneration == pdb.Generation
}

// unscheduled returns the pods with the budgets that select them, and the statuses of all budgets.
func unscheduled(pods []*corev1.Pod, all []budgetStatus) (found []maintenance.Unscheduled, statuses map[string]policyv1.PodDisruptionBudgetStatus) {
	budgets, statuses := make([]sharedpdbs.Budget, len(all)), map[string]policyv1.PodDisruptionBudgetStatus{}
	for i, b := range all {
		budgets[i], statuses[b.Key] = b.Budget, b.status
	}
	sorted := sharedpdbs.Sorted(budgets)
	for _, pod := range pods {
		if keys := sorted.Select(pod.Namespace, pod.Labels); len(keys) > 0 {
			found = append(found, maintenance.Unscheduled{Pod: pod, Budgets: keys})
		}
	}
	slices.SortFunc(found, func(a, b maintenance.Unscheduled) int {
		return strings.Compare(a.Pod.Namespace+"/"+a.Pod.Name, b.Pod.Namespace+"/"+b.Pod.Name)
	})
	return found, statuses
}
