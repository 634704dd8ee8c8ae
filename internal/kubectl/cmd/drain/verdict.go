// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// verdict is the end of a node's event.
type verdict struct {
	code int
	// done is for the output, wrong for the error output.
	done, wrong string
}

// judge returns the end of an event. Refused are the pods for which it was withdrawn;
// byTimeout means that the timeout was its deadline.
func judge(s *progress.Item, verb string, refused []lifecyclev1alpha1.Blocker, byTimeout bool) verdict {
	outcome := s.Outcome()
	outcome.Reason, outcome.Message = ui.Clean(outcome.Reason), ui.Clean(outcome.Message)
	not := fmt.Sprintf("node %s is not %s: ", s.Node(), verb)
	switch {
	case outcome.Phase == lifecyclev1alpha1.Succeeded:
		return succeeded(s, verb)
	case len(refused) > 0:
		return verdict{cli.Error, "", refusal(s.Node(), refused)}
	case outcome.Phase == lifecyclev1alpha1.SlaExpired && byTimeout:
		return verdict{cli.TimedOut, "", not + fmt.Sprintf("timed out. %s. %s", strings.TrimSuffix(outcome.Message, "."), next(s, verb))}
	case outcome.Canceled():
		return verdict{cli.Canceled, "", not + "canceled: " + outcome.Message}
	case outcome.Reason == lifecyclev1alpha1.ReasonHeldByOthers:
		return verdict{cli.Held, "", not + outcome.Message}
	case outcome.Phase.Terminal():
		return verdict{cli.Failed, "", not + fmt.Sprintf("%s. %s", outcome, next(s, verb))}
	default:
		return verdict{cli.Error, "", fmt.Sprintf("node %s: %s; 'kubectl slipway status %s' shows its state", s.Node(), outcome, s.Node())}
	}
}

// next describes the node after a failed event, and the possible actions. An event that was never
// claimed has changed nothing.
func next(s *progress.Item, verb string) string {
	text := fmt.Sprintf("'kubectl slipway %s %s' tries again", strings.TrimSuffix(verb, "ed"), s.Node())
	if s.Event().Status.Driver == nil {
		return text
	}
	if verb == drained {
		text += fmt.Sprintf(", 'kubectl slipway uncordon %s' returns it to service", s.Node())
	}
	return "The node stays cordoned; " + text
}

// succeeded is the end of an event that has succeeded. A node that another party keeps cordoned
// is not back in service.
func succeeded(s *progress.Item, verb string) verdict {
	conditions := s.Event().Status.Conditions
	if c := apimeta.FindStatusCondition(conditions, lifecyclev1alpha1.ConditionSchedulable); c != nil && c.Status == metav1.ConditionFalse {
		return verdict{cli.Held, "", fmt.Sprintf("node %s is returned, and not schedulable: %s", s.Node(), ui.Clean(c.Message))}
	}
	text := fmt.Sprintf("node/%s %s\n", s.Node(), verb)
	for _, conditionType := range []string{lifecyclev1alpha1.ConditionPodsLeft, lifecyclev1alpha1.ConditionBudgetsOverridden} {
		if c := apimeta.FindStatusCondition(conditions, conditionType); c != nil && c.Status == metav1.ConditionTrue {
			text += fmt.Sprintf("  %s: %s\n", c.Type, ui.Clean(c.Message))
		}
	}
	return verdict{cli.Done, text, ""}
}

// refusal names the pods that the drain refuses to evict, as kubectl drain does.
func refusal(node string, pods []lifecyclev1alpha1.Blocker) string {
	return fmt.Sprintf("node %s is not drained, and its pods stay, because of pods that this drain refuses to evict:%s\n"+
		"The drain was withdrawn, and its cordon undone", node, listed(pods))
}

// listed returns a line for each refused pod, with the flag that allows its eviction.
func listed(pods []lifecyclev1alpha1.Blocker) string {
	var text strings.Builder
	for _, b := range pods {
		fmt.Fprintf(&text, "\n  %s: %s", ui.Clean(b.Object), ui.Clean(progress.Flag(b)))
	}
	return text.String()
}
