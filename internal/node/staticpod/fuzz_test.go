// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func annotatedWith(annotation, text string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{annotation: text}}}
}

// Whatever somebody writes on a Node: what is read of the wishes can be written back, and says
// the same then; who adds a wish and takes it back leaves what others wish.
func FuzzWishesOn(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", `[{}]`, `[null]`,
		`[{"event":"e","uid":"u","pods":["kube-system/etcd-n"]}]`,
		`[{"event":"e","uid":"u","pods":["b","a","a"]},{"event":"e","uid":"u","pods":null}]`,
		`[{"event":"e","uid":"ours","pods":["../../etc/passwd"]}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wishes, err := WishesOn(annotatedWith(Annotation, text))
		if err != nil {
			return
		}
		written, err := Text(wishes)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := WishesOn(annotatedWith(Annotation, written))
		if diff := cmp.Diff(wishes, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("it does not say the same (-before +after): %v\n%s", err, diff)
		}
		others := Without(wishes, "ours")
		with := With(others, Wish{Event: "mine", UID: "ours", Pods: []string{"ns/pod"}})
		if !slices.Contains(Wanted(with), "ns/pod") {
			t.Errorf("of %s and ours is wanted %q", text, Wanted(with))
		}
		if diff := cmp.Diff(Wanted(others), Wanted(Without(with, "ours"))); diff != "" {
			t.Errorf("without ours it is not as before (-before +after):\n%s", diff)
		}
	})
}

// Whatever somebody writes on a Node: what is read of the report can be written back, and says
// the same then.
func FuzzReportedOn(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", `{"controlPlane":true}`, `{"away":["kube-system/etcd-n"]}`,
		`{"away":null,"trouble":[{"message":"full"},{"pod":"a","message":""}]}`, `{"away":7}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		report := ReportedOn(annotatedWith(HostAnnotation, text))
		if report == nil {
			return
		}
		written, err := report.Text()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if diff := cmp.Diff(report, ReportedOn(annotatedWith(HostAnnotation, written)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("it does not say the same (-before +after):\n%s", diff)
		}
	})
}
