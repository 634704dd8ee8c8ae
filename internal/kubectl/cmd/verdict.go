// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// verdict is how one node's event has ended, for the person who asked.
type verdict struct {
	code int
	// done is what has happened, and goes to stdout; wrong is what has not.
	done, wrong string
}

// drained is the verb of a drain.
const drained = "drained"

// judge tells how an event has ended. refused are the pods for which it was withdrawn.
// byTimeout means that its deadline was the time that somebody wanted to wait.
func judge(s *progress.Item, verb string, refused []lifecyclev1alpha1.Blocker, byTimeout bool) verdict {
	outcome := s.Outcome()
	outcome.Reason, outcome.Message = ui.Clean(outcome.Reason), ui.Clean(outcome.Message)
	switch {
	case outcome.Phase == lifecyclev1alpha1.Succeeded:
		return verdict{Done, succeeded(s, verb), ""}
	case len(refused) > 0:
		return verdict{Error, "", refusal(s.Node(), refused)}
	case outcome.Phase == lifecyclev1alpha1.SlaExpired && byTimeout:
		return verdict{Blocked, "", fmt.Sprintf("node %s is not %s: the time is over. %s. %s", s.Node(), verb, strings.TrimSuffix(outcome.Message, "."), next(s, verb))}
	case outcome.Canceled():
		return verdict{Canceled, "", fmt.Sprintf("node %s is not %s: canceled: %s", s.Node(), verb, outcome.Message)}
	case outcome.Phase.Terminal():
		return verdict{Failed, "", fmt.Sprintf("node %s is not %s: %s. %s", s.Node(), verb, outcome, next(s, verb))}
	default:
		return verdict{Error, "", fmt.Sprintf("node %s: %s; 'kubectl slipway status %s' says how it is", s.Node(), outcome, s.Node())}
	}
}

// next is how an event has left its node, and what can be done. One that was never claimed
// has left nothing.
func next(s *progress.Item, verb string) string {
	again := fmt.Sprintf("'kubectl slipway %s %s' tries again", strings.TrimSuffix(verb, "ed"), s.Node())
	if s.Event().Status.Driver == nil {
		return again
	}
	return "The node stays cordoned; " + again + back(s, verb)
}

// back is how a node that was not drained is put back.
func back(s *progress.Item, verb string) string {
	if verb != drained {
		return ""
	}
	return fmt.Sprintf(", 'kubectl slipway uncordon %s' puts it back", s.Node())
}

// succeeded is what kubectl says, and what is still to be known.
func succeeded(s *progress.Item, verb string) string {
	text := fmt.Sprintf("node/%s %s\n", s.Node(), verb)
	for _, conditionType := range []string{"PodsLeft", lifecyclev1alpha1.ConditionBudgetsOverridden} {
		if c := apimeta.FindStatusCondition(s.Event().Status.Conditions, conditionType); c != nil && c.Status == metav1.ConditionTrue {
			text += fmt.Sprintf("  %s: %s\n", c.Type, ui.Clean(c.Message))
		}
	}
	if c := apimeta.FindStatusCondition(s.Event().Status.Conditions, "Schedulable"); c != nil && c.Status == metav1.ConditionFalse {
		text = fmt.Sprintf("node/%s returned, and not schedulable\n  %s\n", s.Node(), ui.Clean(c.Message))
	}
	return text
}

// refusal is what kubectl drain says of pods that it does not delete, with what it does not
// say: that nothing is left of the attempt.
func refusal(node string, pods []lifecyclev1alpha1.Blocker) string {
	var text strings.Builder
	fmt.Fprintf(&text, "node %s is not drained, and nothing was evicted, because of pods that this drain does not evict:", node)
	for _, b := range pods {
		fmt.Fprintf(&text, "\n  %s: %s", ui.Clean(b.Object), ui.Clean(progress.Flag(b)))
	}
	fmt.Fprintf(&text, "\nThe drain was withdrawn, and its cordon undone")
	return text.String()
}

// worst is the exit code for several nodes.
func worst(codes []int) int {
	for _, code := range []int{Error, Failed, Canceled, Blocked} {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return Done
}
