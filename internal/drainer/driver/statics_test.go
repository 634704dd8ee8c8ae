// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
)

func statusWith(names ...string) drain.Status {
	s := drain.Status{Message: "m"}
	for _, name := range names {
		s.Static = append(s.Static, drain.PodReference{NamespacedName: types.NamespacedName{Namespace: "kube-system", Name: name}})
	}
	return s
}

// What is not written yet is written with what comes later: a pod that is gone meanwhile is to
// stay away, too.
func TestNothingThatIsToBeWishedIsForgotten(t *testing.T) {
	w := &wisher{due: make(chan []string, 1)}
	w.add(statusWith())
	if len(w.due) != 0 {
		t.Error("something is to be written for no pods")
	}
	w.add(statusWith("a"))
	w.add(statusWith("b"))
	w.add(statusWith())
	due := <-w.due
	if slices.Sort(due); !slices.Equal(due, []string{"kube-system/a", "kube-system/b"}) {
		t.Errorf("to be written are %q", due)
	}
	w.add(statusWith("b"))
	if len(w.due) != 0 {
		t.Error("the same is to be written again")
	}
}

// That the Node cannot be written is said beside what the drain says, until it can.
func TestWhyNothingIsWishedIsSaidBesideTheDrain(t *testing.T) {
	var said []string
	w := &wisher{report: func(a driverkit.Answer) { said = append(said, a.Message) }}
	w.answer(driverkit.Answer{Message: "drains", BlockersTotal: 1})
	w.fails("refused")
	w.fails("refused")
	w.answer(driverkit.Answer{Message: "drains on"})
	w.fails("")
	w.fails("")
	if want := []string{"drains", "drains; refused", "drains on; refused", "drains on"}; !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}
