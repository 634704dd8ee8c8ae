// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The verbs of a write.
const (
	verbCreate       = "create"
	verbUpdate       = "update"
	verbUpdateStatus = "update status"
	verbDelete       = "delete"
)

// asked is what was asked of the server, in the order in which it was. test/validation
// asks the server's own code for the same.
type asked struct {
	At   time.Time `json:"at"`
	Verb string    `json:"verb"`
	// Refused: by the world's rules, which are the server's in brief.
	Refused bool           `json:"refused,omitempty"`
	Object  runtime.Object `json:"object"`
}

// wrote puts a write on the tape.
func (w *world) wrote(verb string, o metav1.Object, refused error) {
	var object runtime.Object
	switch o := o.(type) {
	case *evictionv1alpha1.Eviction:
		e := o.DeepCopy()
		e.TypeMeta = metav1.TypeMeta{APIVersion: evictionv1alpha1.SchemeGroupVersion.String(), Kind: "Eviction"}
		object = e
	case *evictionv1alpha1.EvictionRequest:
		r := o.DeepCopy()
		r.TypeMeta = metav1.TypeMeta{APIVersion: evictionv1alpha1.SchemeGroupVersion.String(), Kind: "EvictionRequest"}
		object = r
	}
	w.tape = append(w.tape, asked{At: w.now, Verb: verb, Refused: refused != nil, Object: object})
}

// checkTape compares the tape with the one in the file, or rewrites that.
func (w *world) checkTape(t *testing.T, path string) {
	t.Helper()
	var got bytes.Buffer
	for _, line := range w.tape {
		if err := json.NewEncoder(&got).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("other writes than in %s; go test -rewrite if that is right (-want +got):\n%s", path, diff)
	}
}
