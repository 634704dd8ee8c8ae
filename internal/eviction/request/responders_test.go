// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRespondersTakeTurnsByPriorityThenByDomainFromTheTopThenByKey(t *testing.T) {
	all, err := parse("b.example.com/x:2000,a.example.org/x:2000,example.com/z:2000,example.com/a:2000,a.b.example.com/x:2000," +
		"zzz.org/late:1000,aaa.org/first:100000")
	if err != nil {
		t.Fatal(err)
	}
	f := onePod()
	f.Pod.Spec.EvictionResponders = all
	var got []string
	for _, r := range derive(f, epoch).responders() {
		got = append(got, r.Name)
	}
	want := []string{
		"aaa.org/first", "example.com/a", "example.com/z", "b.example.com/x", "a.b.example.com/x", "a.example.org/x", "zzz.org/late", Evictor,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnAnnotationIsHeldToWhatTheFieldIsHeldTo(t *testing.T) {
	tooMany := strings.TrimSuffix(strings.Repeat("example.com/NAME:2000,", 11), ",")
	for i := range 11 {
		tooMany = strings.Replace(tooMany, "NAME", string(rune('a'+i)), 1)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"two":               {"example.com/a:1000, example.com/b:100000", ""},
		"no priority":       {"example.com/a", "must be NAME:PRIORITY"},
		"nothing":           {"", "must be NAME:PRIORITY"},
		"no number":         {"example.com/a:high", "must be a number from 1000 to 100000"},
		"Kubernetes' own":   {"example.com/a:999", "must be a number from 1000 to 100000"},
		"too high":          {"example.com/a:100001", "must be a number from 1000 to 100000"},
		"no domain":         {"backup:2000", "must have a domain"},
		"a wrong name":      {"example.com/a b:2000", "the name is wrong"},
		"a reserved domain": {"apps.k8s.io/a:2000", "is Kubernetes' own"},
		"the same domain":   {"kubernetes.io/a:2000", "is Kubernetes' own"},
		"one like it":       {"notk8s.io/a:2000", ""},
		"twice":             {"example.com/a:2000,example.com/a:3000", "occurs twice"},
		"eleven":            {tooMany, "there are 11 responders; there may be 10"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationResponders: tc.text}}}
			_, err := RespondersOf(pod)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), AnnotationResponders)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheFieldComesBeforeTheAnnotation(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationResponders: "example.com/a:2000"}}}
	pod.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "example.com/field", Priority: new(int32(3000))}}
	all, err := RespondersOf(pod)
	if err != nil || len(all) != 1 || all[0].Name != "example.com/field" {
		t.Errorf("%v, %v", all, err)
	}
}
