// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/driverkit"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// ConditionSchedulable says on an event that returns a node whether pods may run
// there again.
const ConditionSchedulable = "Schedulable"

// Reasons of ConditionSchedulable.
const (
	// ReasonReturned: the node is schedulable.
	ReasonReturned = "Returned"
	// ReasonCordonedByOthers: our cordon is undone, and somebody else's remains.
	ReasonCordonedByOthers = "CordonedByOthers"
)

// returnNode undoes our cordons. Where the node is unschedulable all the same, it is
// somebody else's to uncordon: the event succeeds and says whose.
func (p *plugin) returnNode(ctx context.Context, call driverkit.Call, report func(driverkit.Answer)) error {
	if len(call.Parameters) > 0 {
		return fmt.Errorf("spec.parameters: transition %q takes none", call.Transition)
	}
	var left *nodestate.Foreign
	err := persist(ctx, report, func(ctx context.Context) (err error) {
		left, err = p.node(call.Node).Return(ctx)
		return err
	})
	if err != nil {
		return err
	}
	report(returned(call.Node, left))
	return nil
}

func returned(node string, left *nodestate.Foreign) driverkit.Answer {
	condition := driverkit.Condition{
		Type: ConditionSchedulable, Status: metav1.ConditionTrue, Reason: ReasonReturned,
		Message: fmt.Sprintf("node %s is schedulable", node),
	}
	if left != nil {
		condition.Status, condition.Reason = metav1.ConditionFalse, ReasonCordonedByOthers
		condition.Message = fmt.Sprintf("node %s stays cordoned: it was cordoned by %s, which is not Slipway's to undo (kubectl uncordon %s)",
			node, left, node)
	}
	return driverkit.Answer{Message: condition.Message, EventConditions: []driverkit.Condition{condition}, NodeConditions: nodeReturned()}
}
