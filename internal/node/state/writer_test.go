// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// writerOf is a writer of the Node in a fake API, which answers patches with errors
// first, one by one.
func writerOf(node *corev1.Node, patchErrors ...error) (*Writer, *fake.Clientset) {
	clients := fake.NewClientset()
	if node != nil {
		clients = fake.NewClientset(node)
	}
	clients.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if len(patchErrors) == 0 {
			return false, nil, nil
		}
		err := patchErrors[0]
		patchErrors = patchErrors[1:]
		return true, nil, err
	})
	return NewWriter(clients.CoreV1().Nodes(), "n", clocktesting.NewFakePassiveClock(epoch)), clients
}

func read(t *testing.T, clients *fake.Clientset) *corev1.Node {
	t.Helper()
	node, err := clients.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("it has changed"))

func TestANodeThatChangedMeanwhileIsReadAgain(t *testing.T) {
	writer, clients := writerOf(nodeWith(false, ""), conflict, conflict)
	if err := writer.Cordon(t.Context(), "a", "a-uid"); err != nil {
		t.Fatal(err)
	}
	node := read(t, clients)
	const want = `{"owners":[{"event":"a","uid":"a-uid","since":"2026-01-02T03:04:05Z"}]}`
	if diff := cmp.Diff(want, node.Annotations[CordonsAnnotation]); diff != "" || !node.Spec.Unschedulable {
		t.Errorf("unschedulable is %v (-want +got):\n%s", node.Spec.Unschedulable, diff)
	}

	if err := writer.Release(t.Context(), "a-uid"); err != nil {
		t.Fatal(err)
	}
	node = read(t, clients)
	if text, left := node.Annotations[CordonsAnnotation]; left || node.Spec.Unschedulable {
		t.Errorf("after the release, unschedulable is %v and the annotation %q", node.Spec.Unschedulable, text)
	}
}

func TestNothingIsWrittenWhereNothingChanges(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *Writer) error{
		"release": func(t *testing.T, w *Writer) error { return w.Release(t.Context(), "a-uid") },
		"return": func(t *testing.T, w *Writer) error {
			_, err := w.Return(t.Context())
			return err
		},
		"the same cordon": func(t *testing.T, w *Writer) error { return w.Cordon(t.Context(), "b", "b-uid") },
		"the same home": func(t *testing.T, w *Writer) error {
			_, err := w.RememberHome(t.Context(), "g")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(false, "")
			if name == "the same cordon" {
				node = nodeWith(true, `{"owners":[{"event":"b","uid":"b-uid","since":"2026-01-02T03:04:05Z"}]}`)
			}
			if name == "the same home" {
				node.Annotations = map[string]string{HomeAnnotation: `{"group":"g"}`}
			}
			writer, clients := writerOf(node)
			if err := change(t, writer); err != nil {
				t.Fatal(err)
			}
			for _, action := range clients.Actions() {
				if action.GetVerb() != "get" {
					t.Errorf("got a %s", action.GetVerb())
				}
			}
		})
	}
}

func TestAnErrorNamesTheNodeAndWhatWasToBeDone(t *testing.T) {
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("no right"))
	for want, tc := range map[string]struct {
		node *corev1.Node
		do   func(*testing.T, *Writer) error
	}{
		"cordon node n: nodes \"n\" not found": {
			nil, func(t *testing.T, w *Writer) error { return w.Cordon(t.Context(), "a", "a-uid") },
		},
		"cordon node n: nodes \"n\" is forbidden: no right": {
			nodeWith(false, ""), func(t *testing.T, w *Writer) error { return w.Cordon(t.Context(), "a", "a-uid") },
		},
		"write the conditions of node n: nodes \"n\" is forbidden: no right": {
			nodeWith(false, ""), func(t *testing.T, w *Writer) error {
				_, err := w.Mark(t.Context(), nil)
				return err
			},
		},
		"write the API home of node n: nodes \"n\" is forbidden: no right": {
			nodeWith(false, ""), func(t *testing.T, w *Writer) error {
				_, err := w.RememberHome(t.Context(), "g")
				return err
			},
		},
	} {
		t.Run(want, func(t *testing.T) {
			writer, _ := writerOf(tc.node, refusal)
			if err := tc.do(t, writer); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got error %v; want %q", err, want)
			}
		})
	}
}

func TestANodeThatIsGoneNeedsNoConditions(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "n")
	writer, _ := writerOf(nil, notFound)
	if _, err := writer.Mark(t.Context(), []corev1.NodeCondition{{Type: "T", Status: "True"}}); err != nil {
		t.Error(err)
	}
}

// managed says who has cordoned a Node.
func managed(manager string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Time: &metav1.Time{Time: epoch}, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`),
	}
}

func TestAReturnTellsWhoseCordonIsLeft(t *testing.T) {
	byManager := nodeWith(true, "")
	byManager.ManagedFields = []metav1.ManagedFieldsEntry{managed("kubectl")}
	for name, tc := range map[string]struct {
		node *corev1.Node
		want *Foreign
	}{
		"nobody's":                   {nodeWith(true, `{"owners":[{"event":"a","uid":"1"}]}`), nil},
		"the one that was there":     {nodeWith(true, `{"owners":[{"event":"a","uid":"1"}],"before":{"by":"kubectl"}}`), &Foreign{By: "kubectl"}},
		"the field manager's":        {byManager, &Foreign{By: "kubectl", Since: epoch}},
		"one that nobody's name has": {nodeWith(true, `{"owners":[{"event":"a","uid":"1"}],"before":{}}`), &Foreign{}},
		"none on a schedulable node": {nodeWith(false, `{"owners":[{"event":"a","uid":"1"}],"before":{"by":"kubectl"}}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			writer, clients := writerOf(tc.node)
			got, err := writer.Return(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left := read(t, clients).Annotations[CordonsAnnotation]; left != "" {
				t.Errorf("the annotation is still there: %s", left)
			}
		})
	}
}
