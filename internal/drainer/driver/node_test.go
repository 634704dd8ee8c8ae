// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
)

func TestTheNodeSaysThatItIsBeingDrained(t *testing.T) {
	const inProgress, drained = "DrainInProgress", "Drained"
	blockers := []drain.Blocker{{Pod: pod("cart-0"), Reason: drain.BudgetExhausted, By: "cart"}}
	started := driverkit.Condition{Type: drained, Status: "False", Reason: "DrainStarted"}
	for name, tc := range map[string]struct {
		transition string
		status     drain.Status
		want       []driverkit.Condition
	}{
		"pods leave": {
			status: drain.Status{Total: 5, Done: 2},
			want:   []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "AdminRequested", Message: "2/5 pods"}, started},
		},
		"some are held up, others are on their way": {
			status: drain.Status{Total: 5, Done: 2, Moving: 1, Blockers: blockers},
			want:   []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "AdminRequested", Message: "2/5 pods"}, started},
		},
		"nothing moves": {
			status: drain.Status{Total: 5, Done: 2, Blockers: blockers},
			want:   []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "AdminRequested", Message: "2/5 pods, blocked"}, started},
		},
		"the end": {
			status: drain.Status{Total: 5, Done: 5, Reached: true},
			want: []driverkit.Condition{
				{Type: inProgress, Status: "False", Reason: "DrainCompleted", Message: "5/5 pods"},
				{Type: drained, Status: "True", Reason: "DrainCompleted", Message: "5/5 pods"},
			},
		},
		"a machine that goes down is the cause": {
			transition: "drain.slm.k8s.io-shutdown", status: drain.Status{Total: 5, Done: 2},
			want: []driverkit.Condition{{Type: inProgress, Status: "True", Reason: "NodeShutdown", Message: "2/5 pods"}, started},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, nodeConditions(cause(tc.transition), tc.status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// answers is a driver that answers Start with nothing, and End in this order.
type answers struct {
	driverkit.Driver
	ends []driverkit.Answer
}

func (a *answers) Start(context.Context, driverkit.Call) (driverkit.Answer, error) {
	return driverkit.Answer{Waits: true}, nil
}

func (a *answers) End(ctx context.Context, call driverkit.Call) (driverkit.Answer, error) {
	if call.Wait == 0 || len(a.ends) == 0 {
		return driverkit.Answer{}, fmt.Errorf("it is asked again with wait %s, %d answers are left", call.Wait, len(a.ends))
	}
	answer := a.ends[0]
	a.ends = a.ends[1:]
	return answer, nil
}

func TestStartIsAnsweredWhenTheNodeIsCordoned(t *testing.T) {
	cordoned := driverkit.Answer{NodeConditions: inProgress("AdminRequested", "")}
	held := driverkit.Answer{EventConditions: []driverkit.Condition{targetsReached(false, true)}}
	trouble := driverkit.Answer{Message: "nodes is forbidden"}
	over := cordoned
	over.Done = true
	for name, tc := range map[string]struct {
		ends []driverkit.Answer
		want driverkit.Answer
	}{
		"at once":                        {[]driverkit.Answer{cordoned}, cordoned},
		"after the report of a hold":     {[]driverkit.Answer{held, cordoned}, cordoned},
		"with the trouble there is":      {[]driverkit.Answer{held, trouble, cordoned}, trouble},
		"a drain that is over has begun": {[]driverkit.Answer{over}, cordoned},
	} {
		got, err := cordonFirst{&answers{ends: tc.ends}}.Start(t.Context(), driverkit.Call{})
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := (cordonFirst{&answers{}}).Start(t.Context(), driverkit.Call{Transition: "drain.slm.k8s.io-uncordon"}); err != nil {
		t.Errorf("a return is not answered at once: %v", err)
	}
}

// stopping stops the drain while the write of its cordon is on its way.
type stopping struct {
	corev1client.NodeInterface
	stop context.CancelFunc
}

func (s stopping) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string,
) (*corev1.Node, error) {
	s.stop()
	if err := ctx.Err(); err != nil { // the server writes the cordon later
		return nil, err
	}
	return s.NodeInterface.Patch(ctx, name, kind, data, options, subresources...)
}

func TestAStoppedDrainWaitsForTheAnswerToItsCordon(t *testing.T) {
	nodes := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}).CoreV1().Nodes()
	ctx, stop := context.WithCancel(t.Context())
	p := &plugin{nodes: stopping{nodes, stop}}
	if err := p.cordon(ctx, driverkit.Call{Node: "worker", Event: "e", EventUID: "u"}, func(driverkit.Answer) {}); err != nil {
		t.Errorf("the drain does not wait for the answer: %v", err)
	}
	node, err := nodes.Get(t.Context(), "worker", metav1.GetOptions{})
	if err != nil || !node.Spec.Unschedulable {
		t.Errorf("the node is not cordoned when the drain has stopped: %v", err)
	}
}
