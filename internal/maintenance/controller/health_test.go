// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func TestWhichPodsAreNotReady(t *testing.T) {
	for name, tc := range map[string]struct {
		owner string
		phase corev1.PodPhase
		ready corev1.ConditionStatus
		want  bool
	}{
		"of a DaemonSet, not Ready": {"DaemonSet", corev1.PodRunning, corev1.ConditionFalse, true},
		"of a DaemonSet, not begun": {"DaemonSet", corev1.PodPending, "", true},
		"of a DaemonSet, Ready":     {"DaemonSet", corev1.PodRunning, corev1.ConditionTrue, false},
		"of a DaemonSet, ended":     {"DaemonSet", corev1.PodFailed, corev1.ConditionFalse, false},
		"of something else":         {"ReplicaSet", corev1.PodRunning, corev1.ConditionFalse, false},
		"of nothing":                {"", corev1.PodRunning, corev1.ConditionFalse, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := daemonPod("a", tc.owner, tc.ready)
			pod.Status.Phase = tc.phase
			if got, wanted := readUnready(pod); wanted != tc.want || wanted && got != "kube-system/a" {
				t.Errorf("got %q, %v", got, wanted)
			}
		})
	}
}

func daemonPod(name, owner string, ready corev1.ConditionStatus) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: name, UID: "uid-of-pod", ResourceVersion: "1", CreationTimestamp: metav1.Unix(1000, 0),
	}}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "o", UID: "o", Controller: new(true)}}
	}
	if ready != "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	}
	return pod
}

// server lists one pod to whoever asks, and notes what is asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			s.note(query.Get("fieldSelector") + " " + strings.Split(r.Header.Get("Accept"), ",")[0])
			list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
			list.Items = append(list.Items, *daemonPod("a", "DaemonSet", corev1.ConditionFalse))
			_ = json.NewEncoder(w).Encode(list)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
}

// awaitChange waits until a watch has shown something.
func awaitChange(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	giveUp := time.NewTimer(time.Minute)
	defer giveUp.Stop()
	select {
	case <-changed:
	case <-giveUp.C:
		t.Fatal("nothing was shown within a minute")
	}
}

func TestPodsAreWatchedWhileItIsAskedFor(t *testing.T) {
	s := newServer(t)
	config := &rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 100)
	wake := func() { changed <- struct{}{} }
	w := watchesAfterLull(pods, wake)
	now := time.Unix(2000, 0)
	notReady := func() []maintenance.NotReadyPod {
		var facts maintenance.Facts
		w.addTo(&facts)
		return facts.NotReady
	}
	if _, known := w.unreadyOn("n"); known || notReady() != nil {
		t.Error("something is known before anything was asked for")
	}
	for range 2 { // asking again is asking for the same
		follow(t, w, maintenance.Decision{Check: []string{"n"}}, now)
	}
	awaitChange(t, changed)
	if got, known := w.unreadyOn("n"); !known || !slices.Equal(got, []string{"kube-system/a"}) {
		t.Errorf("not Ready on n: %v, known %v", got, known)
	}
	follow(t, w, maintenance.Decision{}, now)
	if _, known := w.unreadyOn("n"); known {
		t.Error("it is still watched")
	}

	count := maintenance.Decision{CountPending: true}
	if until := follow(t, w, count, now); !until.Equal(now.Add(patience)) {
		t.Errorf("it is waited for until %s", until)
	}
	awaitChange(t, changed)
	if until := follow(t, w, count, now); !until.IsZero() {
		t.Errorf("it is waited for until %s although they are known", until)
	}
	want := []maintenance.NotReadyPod{{Name: "kube-system/a", Created: time.Unix(1000, 0), Controller: "o"}}
	if diff := cmp.Diff(want, notReady()); diff != "" {
		t.Errorf("not Ready (-want +got):\n%s", diff)
	}
	w.close()
	if notReady() != nil {
		t.Error("they are still watched")
	}
	asked := []string{"spec.nodeName=n application/json", "status.phase!=Failed,status.phase!=Succeeded application/json"}
	if diff := cmp.Diff(asked, s.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestPodsThatCannotBeReadHoldNothingUpForEver(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	pods, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	w := watchesAfterLull(pods, func() {})
	defer w.close()
	count := maintenance.Decision{CountPending: true}
	until := follow(t, w, count, time.Unix(2000, 0))
	if again := follow(t, w, count, until.Add(-time.Second)); !again.Equal(until) {
		t.Errorf("it is waited for until %s, and then until %s", until, again)
	}
	if again := follow(t, w, count, until); !again.IsZero() {
		t.Errorf("it is waited for until %s", again)
	}
}

// watchesAfterLull do not watch pods that nodes keep away.
func watchesAfterLull(client kubernetes.Interface, changed func()) *watches {
	w := newWatches(client, changed)
	w.lullEnds = time.Unix(1, 0)
	return w
}

func follow(t *testing.T, w *watches, d maintenance.Decision, now time.Time) (wait time.Time) {
	t.Helper()
	wait, _ = w.follow(t.Context(), d, now)
	return wait
}
