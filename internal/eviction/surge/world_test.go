// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var epoch = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const hash = "6d5b"

// world is a Deployment with one ReplicaSet that matters, and a ReplicaSet controller.
type world struct {
	now        time.Time
	deployment *appsv1.Deployment
	set        *appsv1.ReplicaSet
	pods       map[string]*corev1.Pod
	turns      map[string]*Run
	standings  map[string]Standing
	services   []*corev1.Service
	budgets    []*policyv1.PodDisruptionBudget
	created    int
	idle       bool // the ReplicaSet controller does nothing
}

func newWorld(replicas int32) *world {
	w := &world{now: epoch, pods: map[string]*corev1.Pod{}, turns: map[string]*Run{}, standings: map[string]Standing{}}
	labels := map[string]string{"app": "web"}
	w.deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "d", Generation: 1}}
	w.deployment.Spec.Replicas, w.deployment.Spec.Template.Labels = &replicas, labels
	w.deployment.Status.ObservedGeneration = 1
	w.set = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-" + hash, UID: "rs", Labels: map[string]string{"app": "web", LabelHash: hash}}}
	w.set.Spec.Replicas = new(replicas)
	w.set.Spec.Selector = &metav1.LabelSelector{MatchLabels: w.set.Labels}
	w.set.Spec.Template = *w.deployment.Spec.Template.DeepCopy()
	w.set.Spec.Template.Labels = map[string]string{"app": "web", LabelHash: hash}
	for range replicas {
		w.create()
	}
	for _, p := range w.pods {
		p.CreationTimestamp = metav1.NewTime(epoch.Add(-time.Hour))
		w.setReady(p.Name, true)
	}
	return w
}

// create is what the ReplicaSet controller does.
func (w *world) create() {
	w.created++
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("p%d", w.created), UID: types.UID(fmt.Sprintf("u%d", w.created)), CreationTimestamp: metav1.NewTime(w.now),
		Labels: map[string]string{"app": "web", LabelHash: hash},
	}}
	w.control(p)
	w.pods[p.Name] = p
}

func (w *world) control(p *corev1.Pod) {
	p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.set.Name, UID: w.set.UID, Controller: new(true)})
}

func (w *world) setReady(name string, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p := w.pods[name]
	p.Spec.NodeName = "node"
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(w.now)}}
}

func (w *world) facts() Facts {
	f := Facts{ReplicaSet: w.set, Deployment: w.deployment, Services: w.services, Budgets: w.budgets}
	for name, p := range w.pods {
		f.Pods = append(f.Pods, Pod{Pod: p.DeepCopy(), Run: w.turns[name], Standing: w.standings[name]})
	}
	return f
}

// perform does a step as the surger does.
func (w *world) perform(step Step) {
	switch s := step.(type) {
	case Release:
		p := w.pods[s.Pod.Name]
		p.Annotations = map[string]string{AnnotationHash: p.Labels[LabelHash], AnnotationSince: w.now.Format(time.RFC3339), AnnotationUnready: strconv.Itoa(s.Unready)}
		p.Labels[LabelHash], p.Labels[LabelReleased] = ReleasedHash(p.Labels[LabelHash]), "true"
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d"})
	case GiveBack:
		p := w.pods[s.Pod.Name]
		p.Labels[LabelHash] = p.Annotations[AnnotationHash]
		if t := w.turns[p.Name]; t != nil {
			t.GivenUp = s.Why
		}
	case Forget:
		p := w.pods[s.Pod.Name]
		p.Annotations = nil
		delete(p.Labels, LabelReleased)
		p.OwnerReferences = slices.DeleteFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Deployment" })
	case Complete:
		delete(w.turns, s.Pod.Name)
		w.standings[s.Pod.Name] = LetGo
	}
}

// reconcile is the ReplicaSet controller: it releases, adopts, creates and deletes. It says
// what it did.
func (w *world) reconcile() (did []string) {
	if w.set == nil {
		return nil
	}
	var ours []*corev1.Pod
	for _, name := range w.names() {
		p := w.pods[name]
		owner := ReplicaSetOf(p)
		switch matches := p.Labels[LabelHash] == hash; {
		case isTerminating(p):
		case owner != nil && !matches:
			p.OwnerReferences = slices.DeleteFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "ReplicaSet" })
			did = append(did, "released "+name)
		case owner == nil && matches:
			w.control(p)
			did = append(did, "adopted "+name)
			ours = append(ours, p)
		case matches:
			ours = append(ours, p)
		}
	}
	want := int(*w.set.Spec.Replicas)
	for n := len(ours); n < want; n++ {
		w.create()
		did = append(did, fmt.Sprintf("created p%d", w.created))
	}
	slices.SortFunc(ours, moreDeletable)
	for _, p := range ours[:max(0, len(ours)-want)] {
		delete(w.pods, p.Name)
		did = append(did, "deleted "+p.Name)
	}
	return did
}

// moreDeletable is the order of the ReplicaSet controller, as far as it matters here.
func moreDeletable(a, b *corev1.Pod) int {
	rank := func(p *corev1.Pod) int {
		switch {
		case p.Spec.NodeName == "":
			return 0
		case p.Status.Phase == corev1.PodPending:
			return 1
		case !isReady(p):
			return 2
		}
		return 3
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

func (w *world) names() []string {
	var all []string
	for name := range w.pods {
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return all
}

func (w *world) ready() (n int) {
	for _, p := range w.pods {
		if isReady(p) {
			n++
		}
	}
	return n
}
