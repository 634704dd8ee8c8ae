// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func annotated(text string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Annotation: text}}}
}

// Whatever somebody writes on a Node: what is read of it can be written back, and says the
// same then.
func FuzzOn(f *testing.F) {
	for _, seed := range []string{
		"", "mine", "null", "[]", `{"owners":null}`,
		`{"owners":[{"event":"drain","uid":"u1","since":"2026-01-02T03:04:05Z"}]}`,
		`{"owners":[{"event":"drain","uid":"u1","since":"2026-01-02T03:04:05.5+02:00"}],"before":{"by":"kubectl","since":"2026-01-01T00:00:00Z"}}`,
		`{"owners":[{"uid":7}]}`,
		`{"before":{}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		noted := On(annotated(text))
		written, err := json.Marshal(noted)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if diff := cmp.Diff(noted, On(annotated(string(written)))); diff != "" {
			t.Errorf("it does not say the same (-before +after):\n%s", diff)
		}
		if before := noted.Before; before != nil && before.String() == "" {
			t.Error("nobody is named for the cordon before ours")
		}
	})
}

// Whatever the managed fields say: who is named is one of the managers, and has the field.
func FuzzBy(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", `{"f:spec":{"f:unschedulable":{}}}`, `{"f:spec":{"f:taints":{}}}`, `{"f:spec":7}`, `{"f:status":{"f:unschedulable":{}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fields string) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{managed("a", fields)}}}
		var all struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		has := json.Unmarshal([]byte(fields), &all) == nil && all.Spec["f:unschedulable"] != nil
		want := Foreign{}
		if has {
			want = Foreign{By: "a", Since: epoch}
		}
		if got := By(node); got != want {
			t.Errorf("got %v; want %v", got, want)
		}
	})
}
