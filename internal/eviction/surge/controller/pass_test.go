// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// TestAPatchThatChangesNothingIsNotRepeatedAtOnce: what is decided on is not what the server
// has, so that the step would come again and again.
func TestAPatchThatChangesNothingIsNotRepeatedAtOnce(t *testing.T) {
	var n *namespace
	var patches atomic.Int32
	n = served(t, func(w http.ResponseWriter, r *http.Request) {
		if n.shown(w, r) {
			return
		}
		if patches.Add(1) > 1 {
			t.Error("a second request: " + r.Method + " " + r.URL.Path)
		}
		pod, _, _ := n.watches.pods.GetIndexer().GetByKey("shop/web-6d5b-1")
		respond(w, http.StatusOK, pod)
	})
	n.show(t, "web")
	if _, _, err := n.pass(t.Context()); err == nil || !strings.Contains(err.Error(), "the write has not changed") {
		t.Errorf("the error is %v", err)
	}
}

// TestAReleaseThatIsRefusedForGoodEndsTheTurn, so that the next responder has its own. The
// server's trouble with another workload is no reason not to go on.
func TestAReleaseThatIsRefusedForGoodEndsTheTurn(t *testing.T) {
	for code, reason := range map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid} {
		t.Run(string(reason), func(t *testing.T) {
			var n *namespace
			n = served(t, func(w http.ResponseWriter, r *http.Request) {
				if n.shown(w, r) {
					return
				}
				if strings.HasSuffix(r.URL.Path, "/pods/web-6d5b-1") {
					respond(w, code, refusal(code, reason, "blockOwnerDeletion is not yours to set"))
					return
				}
				respond(w, http.StatusInternalServerError, refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no quorum"))
			})
			var turns []*run
			for _, name := range []string{"cart", "web", "stock"} {
				_, one := n.show(t, name)
				turns = append(turns, one)
			}
			_, _, err := n.pass(t.Context())
			if err == nil || strings.Count(err.Error(), "no quorum") != 2 {
				t.Errorf("the error is %v", err)
			}
			select {
			case <-turns[1].over:
			default:
				t.Fatal("the turn goes on")
			}
			if want := "no replacement was started: blockOwnerDeletion is not yours to set"; turns[1].reported != want {
				t.Errorf("its last word is %q", turns[1].reported)
			}
			if got := len(n.runs.all()); got != 2 {
				t.Errorf("%d turns go on", got)
			}
		})
	}
}

func refusal(code int, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}

// TestAPodWhoseReplicaSetIsGoneIsNotWatchedForEver: there is nothing that could be done.
func TestAPodWhoseReplicaSetIsGoneIsNotWatchedForEver(t *testing.T) {
	n := served(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("a request: " + r.URL.Path) })
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: n.name, Name: "web", UID: "u", Labels: map[string]string{surge.LabelHash: surge.ReleasedHash("6d5b")},
		Annotations: map[string]string{surge.AnnotationHash: "6d5b"},
	}}
	if err := n.watches.pods.GetIndexer().Add(pod); err != nil {
		t.Fatal(err)
	}
	if busy, wake, err := n.pass(t.Context()); busy || !wake.IsZero() || err != nil {
		t.Errorf("busy: %t, wake: %s, error: %v", busy, wake, err)
	}
}

// TestNothingIsReleasedFromADeploymentThatIsGone, or goes, which the watch does not show
// yet: the pod would be collected with it, whatever its budget says.
func TestNothingIsReleasedFromADeploymentThatIsGone(t *testing.T) {
	now := metav1.Now()
	for name, is := range map[string]metav1.ObjectMeta{
		"another of its name": {UID: "another"},
		"being deleted":       {UID: "uid-of-web", DeletionTimestamp: &now},
	} {
		t.Run(name, func(t *testing.T) {
			n := served(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPatch {
					t.Error("the pod is released")
				}
				respond(w, http.StatusOK, &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}, ObjectMeta: is})
			})
			n.show(t, "web")
			if _, _, err := n.pass(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
