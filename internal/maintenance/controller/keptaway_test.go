// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// gatedPod is one that was created for a node that keeps it away.
func gatedPod(node string) *corev1.Pod {
	pod := daemonPod("a", "DaemonSet", "")
	pod.Labels = map[string]string{slipwayv1alpha1.KeptAway: "true"}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "b"}, {Name: slipwayv1alpha1.KeptAwayGate}}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}}
	return pod
}

func TestWhichPodsAreKeptAway(t *testing.T) {
	kept := maintenance.KeptPod{Namespace: "kube-system", Name: "a", UID: "uid-of-pod", Node: "n", Gated: true}
	lifted, nowhere := kept, kept
	lifted.Gated, nowhere.Node = false, ""
	none := maintenance.KeptPod{}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   maintenance.KeptPod
	}{
		"at the gate":               {func(*corev1.Pod) {}, kept},
		"on its way":                {func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }, lifted},
		"at another gate":           {func(p *corev1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[:1] }, lifted},
		"for no node":               {func(p *corev1.Pod) { p.Spec.Affinity = nil }, nowhere},
		"for nodes with some label": {func(p *corev1.Pod) { requiredOf(p).NodeSelectorTerms[0].MatchFields = nil }, nowhere},
		"for all nodes but one": {func(p *corev1.Pod) {
			requiredOf(p).NodeSelectorTerms[0].MatchFields[0].Operator = corev1.NodeSelectorOpNotIn
		}, nowhere},
		"for no node in particular":            {func(p *corev1.Pod) { p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{} }, nowhere},
		"on its node":                          {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, none},
		"one of somebody's that has the label": {func(p *corev1.Pod) { p.OwnerReferences = nil }, none},
		"one that its DaemonSet deletes":       {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)} }, none},
	} {
		t.Run(name, func(t *testing.T) {
			pod := gatedPod("n")
			tc.change(pod)
			got, wanted := readKept(pod)
			if diff := cmp.Diff(tc.want, got); diff != "" || wanted != (tc.want != none) {
				t.Errorf("wanted %t (-want +got):\n%s", wanted, diff)
			}
		})
	}
}

func TestAPodThatIsKeptAwayWaitsForNoRoom(t *testing.T) {
	pod := gatedPod("n")
	pod.Status.Phase = corev1.PodPending
	if _, waits := maintenance.ReadNotReady(pod); waits {
		t.Error("it counts as one that waits for room, and holds up the return that it waits for")
	}
	pod.Labels = nil
	if _, waits := maintenance.ReadNotReady(pod); !waits {
		t.Error("another pod that is Pending does not count")
	}
}

func requiredOf(p *corev1.Pod) *corev1.NodeSelector {
	return p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func TestPodsThatAreKeptAwayAreWatchedForALull(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case query.Get("sendInitialEvents") != "":
			refusal := apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil).Status()
			w.WriteHeader(int(refusal.Code))
			_ = json.NewEncoder(w).Encode(refusal) // the client says if it is not whole
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, query.Get("labelSelector"))
			list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
			list.Items = append(list.Items, *gatedPod("n"))
			_ = json.NewEncoder(w).Encode(list)
		}
	}))
	t.Cleanup(s.Close)
	pods, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 100)
	k := newWatches(pods, func() { changed <- struct{}{} })
	defer k.close()
	known := func() ([]maintenance.KeptPod, bool) {
		var facts maintenance.Facts
		k.addTo(&facts)
		return facts.KeptAway, facts.KeptAwayUnknown
	}
	follow := func(wanted bool, now time.Time) time.Time {
		_, again := k.follow(t.Context(), maintenance.Decision{WatchKeptAway: wanted}, now)
		return again
	}
	if _, unknown := known(); unknown {
		t.Error("before anything is asked, it waits for it")
	}
	now := time.Unix(2000, 0)
	if until := follow(false, now); !until.Equal(now.Add(lull)) { // it has begun
		t.Errorf("it looks until %s", until)
	}
	awaitChange(t, changed)
	if got, unknown := known(); unknown || len(got) != 1 || !got[0].Gated {
		t.Errorf("got %v, unknown %t", got, unknown)
	}
	now = now.Add(lull / 2)
	if until := follow(true, now); !until.IsZero() {
		t.Errorf("while it is wanted, it looks until %s", until)
	}
	if until := follow(false, now.Add(lull-1)); !until.Equal(now.Add(lull)) {
		t.Errorf("after it was wanted, it looks until %s", until)
	}
	if until := follow(false, now.Add(lull)); !until.IsZero() {
		t.Errorf("after a lull, it looks until %s", until)
	}
	if got, unknown := known(); got != nil || unknown {
		t.Errorf("it is still watched: %v, unknown %t", got, unknown)
	}
	follow(true, now.Add(2*lull))
	awaitChange(t, changed)
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"slipway.dev/kept-away=true", "slipway.dev/kept-away=true"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestAPodIsLetBack(t *testing.T) {
	pod := gatedPod("n")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	w := newWorld(t, nil, interceptor.Funcs{}, pod, node)
	nodes := map[string]*corev1.Node{"n": node}
	said := func() string {
		n, err := w.nodes.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return n.Labels[slipwayv1alpha1.KeptAway] + " " + n.Annotations[slipwayv1alpha1.KeptAway]
	}
	for _, tc := range []struct {
		step maintenance.Step
		want string
	}{
		{maintenance.KeepAway{Node: "n", Which: "5"}, "daemonsets 5"},
		{maintenance.LetBack{Node: "n"}, " "},
		{maintenance.LetBack{Node: "gone"}, " "},
	} {
		if err := w.perform(t.Context(), nodes, tc.step); err != nil || said() != tc.want {
			t.Errorf("%T: the Node says %q, error %v", tc.step, said(), err)
		}
	}
	gone := maintenance.KeptPod{Namespace: pod.Namespace, Name: "gone", UID: "gone"}
	if err := w.perform(t.Context(), nodes, maintenance.Lift{Pod: gone}); err != errStale { //nolint:errorlint // it is the very one
		t.Errorf("a pod that is gone: error %v", err)
	}
	kept, _ := readKept(pod)
	if err := w.perform(t.Context(), nodes, maintenance.Lift{Pod: kept}); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.PodSchedulingGate{{Name: "b"}}, pod.Spec.SchedulingGates); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
}
