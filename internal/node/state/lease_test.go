// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestANodeSaysWhoHoldsItsLease(t *testing.T) {
	node := nodeWith(true, `{"owners":[{"event":"a","uid":"1"}]}`)
	writer, clients := writerOf(node)
	for _, value := range []string{`{"holder":"x"}`, `{"holder":"y"}`, "", ""} {
		if err := writer.SetLease(t.Context(), value); err != nil {
			t.Fatal(err)
		}
		got, said := read(t, clients).Annotations[LeaseAnnotation]
		if got != value || said != (value != "") {
			t.Errorf("it says %q (%v), want %q", got, said, value)
		}
	}
	if after := read(t, clients); after.Annotations[CordonsAnnotation] != node.Annotations[CordonsAnnotation] || !after.Spec.Unschedulable {
		t.Errorf("something else has changed: %v", after)
	}
}

func TestALeaseOfANodeThatIsGoneIsNotSaid(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	writer, _ := writerOf(nil, apierrors.NewNotFound(nodes, "n"), apierrors.NewForbidden(nodes, "n", nil))
	if err := writer.SetLease(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := writer.SetLease(t.Context(), ""); err == nil || !strings.HasPrefix(err.Error(), "write the lease of node n: ") {
		t.Errorf("got error %v", err)
	}
}
