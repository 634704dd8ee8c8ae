// SPDX-License-Identifier: Apache-2.0

package apigroup

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// server answers a LIST of transitions with a status, by API group, and notes what it
// was asked.
func server(t *testing.T, status map[string]int, asked *[]string) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RequestURI())
		group := strings.Split(r.URL.Path, "/")[2]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status[group])
		if status[group] == http.StatusOK {
			_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reasons[status[group]] + `","message":"no"}`))
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

var reasons = map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden", http.StatusInternalServerError: "InternalError"}

const (
	kubernetes = lifecyclev1alpha1.GroupKubernetes
	slipway    = lifecyclev1alpha1.GroupSlipway
)

func TestTheHomeIsTheGroupThatAnswersAList(t *testing.T) {
	for name, tc := range map[string]struct {
		status    map[string]int
		want      string
		wantError func(error) bool
	}{
		"lifecycle.k8s.io alone": {status: map[string]int{kubernetes: 200, slipway: 404}, want: kubernetes},
		"both":                   {status: map[string]int{kubernetes: 200, slipway: 200}, want: kubernetes},
		"slm.slipway.dev alone":  {status: map[string]int{kubernetes: 404, slipway: 200}, want: slipway},
		"neither": {
			status:    map[string]int{kubernetes: 404, slipway: 404},
			wantError: func(err error) bool { return errors.Is(err, slipwayclient.ErrNotInstalled) },
		},
		// An answer that says nothing of where they are must not be taken for a move.
		"no right to list":          {status: map[string]int{kubernetes: 403, slipway: 200}, wantError: apierrors.IsForbidden},
		"a server that is not well": {status: map[string]int{kubernetes: 500, slipway: 200}, wantError: apierrors.IsInternalError},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			got, err := Find(t.Context(), server(t, tc.status, &asked), http.DefaultClient)
			if tc.wantError != nil {
				if !tc.wantError(err) {
					t.Errorf("got %q, error %v", got.Group(), err)
				}
				return
			}
			if err != nil || got.Group() != tc.want {
				t.Errorf("got %q, error %v; want %q", got.Group(), err, tc.want)
			}
			for _, uri := range asked {
				if !strings.HasSuffix(uri, "/v1alpha1/lifecycletransitions?limit=1") {
					t.Errorf("asked for %s", uri)
				}
			}
		})
	}
}

// A server has protobuf for the kinds that it serves itself, and none for CRDs.
func TestAServerIsNativeIfItHasProtobuf(t *testing.T) {
	for status, want := range map[int]bool{http.StatusOK: true, http.StatusNotAcceptable: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.RequestURI() + " " + r.Header.Get("Accept"); got !=
				"/apis/lifecycle.k8s.io/v1alpha1/lifecycletransitions?limit=1 application/vnd.kubernetes.protobuf" {
				t.Errorf("asked for %s", got)
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		if got, err := In(kubernetes).Native(t.Context(), &rest.Config{Host: s.URL}, http.DefaultClient); got != want || err != nil {
			t.Errorf("answer %d: native is %v, error %v", status, got, err)
		}
	}
	var asked []string
	if got, err := In(slipway).Native(t.Context(), server(t, map[string]int{slipway: 500}, &asked), http.DefaultClient); got || !apierrors.IsInternalError(err) {
		t.Errorf("native is %v, error %v; want an internal error", got, err)
	}
}

func TestAHomeKnowsItsKinds(t *testing.T) {
	for _, group := range []string{kubernetes, slipway} {
		h := In(group)
		kinds, _, err := h.Scheme().ObjectKinds(&lifecyclev1alpha1.LifecycleEvent{})
		if err != nil {
			t.Fatal(err)
		}
		want := []schema.GroupVersionKind{{Group: group, Version: "v1alpha1", Kind: "LifecycleEvent"}}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("kinds in %s (-want +got):\n%s", group, diff)
		}
		leases := coordinationv1.SchemeGroupVersion.WithKind("Lease")
		for kind, resource := range map[schema.GroupVersionKind]string{
			h.GroupVersion().WithKind("LifecycleEvent"):      "lifecycleevents",
			h.GroupVersion().WithKind("LifecycleTransition"): "lifecycletransitions",
			corev1.SchemeGroupVersion.WithKind("Node"):       "nodes",
			corev1.SchemeGroupVersion.WithKind("Pod"):        "pods",
			corev1.SchemeGroupVersion.WithKind("Event"):      "events",
			leases: "leases",
		} {
			mapping, err := h.Mapper().RESTMapping(kind.GroupKind(), kind.Version)
			if err != nil {
				t.Fatal(err)
			}
			if mapping.Resource.Resource != resource {
				t.Errorf("%s is mapped to %s; want %s", kind, mapping.Resource, resource)
			}
		}
	}
}
