// SPDX-License-Identifier: Apache-2.0

package central

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/slipwayclient"
	"github.com/slipway-k8s/slipway/test/harness"
)

// providerPowersOff: the program of a provider drains a node before it powers off its machine, as
// docs/how-to/drain-from-a-program.md describes.
func providerPowersOff(t *testing.T, env *harness.Env) {
	for name, tc := range map[string]struct {
		held    bool
		sla     time.Duration
		deleted bool
		want    slipwayclient.Outcome
	}{
		"the pods leave in time":              {sla: time.Hour},
		"the deadline passes":                 {held: true, sla: 5 * time.Second, want: slipwayclient.Outcome{Phase: lifecyclev1alpha1.SlaExpired, Reason: lifecyclev1alpha1.ReasonSLAExpired}},
		"somebody deletes the Node meanwhile": {held: true, sla: time.Hour, deleted: true, want: slipwayclient.Outcome{Phase: lifecyclev1alpha1.Failed, Reason: lifecyclev1alpha1.ReasonNodeGone}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slipway, err := slipwayclient.New(t.Context(), env.Admin)
			if err != nil {
				t.Fatal(err)
			}
			node := env.Node(t, "provided")
			node.Expect(harness.CordonLeft, "the machine is powered off")
			node.Agent("")
			drain := slipwayclient.Drain(node.Name, "scale down")
			drain.Spec.SLA = &metav1.Duration{Duration: tc.sla}
			var pod *harness.HeldPod
			if tc.held {
				pod = node.HeldPod("held-" + node.Name)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := slipway.Run(t.Context(), drain)
				ended <- err
			}()
			if tc.deleted {
				pod.AwaitHeld(t, drain.Name)
				env.Delete(t, node.Await("is seen", func(*corev1.Node) bool { return true }))
			}
			err = <-ended
			env.AwaitEventGone(t, drain.Name)
			failure, _ := errors.AsType[*slipwayclient.EndedError](err)
			switch {
			case tc.want.Phase == "" && err != nil:
				t.Fatal(err)
			case tc.want.Phase != "" && (failure == nil || failure.Phase != tc.want.Phase || failure.Reason != tc.want.Reason):
				t.Fatalf("%v; want %s, %s", err, tc.want.Phase, tc.want.Reason)
			case !tc.deleted:
				node.Await("is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
			}
		})
	}
}
