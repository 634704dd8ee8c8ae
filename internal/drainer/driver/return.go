// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// Reasons of ConditionSchedulable.
const (
	// ReasonReturned: the node is schedulable.
	ReasonReturned = "Returned"
	// ReasonCordonedByOthers: Slipway's cordon is removed, and the cordon of another owner remains.
	ReasonCordonedByOthers = "CordonedByOthers"
)

// returnNode removes Slipway's cordons. If another owner has cordoned the node too, the event succeeds and names that owner.
func (p *plugin) returnNode(ctx context.Context, call driverkit.Call, report func(driverkit.Answer)) error {
	if _, err := hold.ParametersOf(call.Parameters); err != nil { // the controller has acted on them
		return err
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
		Type: lifecyclev1alpha1.ConditionSchedulable, Status: metav1.ConditionTrue, Reason: ReasonReturned,
		Message: fmt.Sprintf("node %s is schedulable", node),
	}
	if left != nil {
		condition.Status, condition.Reason = metav1.ConditionFalse, ReasonCordonedByOthers
		condition.Message = fmt.Sprintf("node %s stays cordoned: it was cordoned by %s, which is not Slipway's to undo (kubectl uncordon %s)",
			node, left, node)
	}
	conditions := draining(metav1.ConditionFalse, lifecyclev1alpha1.NodeReasonNodeReturned, lifecyclev1alpha1.NodeReasonNodeReturned, "")
	return driverkit.Answer{Message: condition.Message, EventConditions: []driverkit.Condition{condition}, NodeConditions: conditions}
}

// persist calls f until it succeeds, or ctx ends, and reports its errors: an unreachable API
// server, or a missing permission, is no failure of the transition. A missing Node is one.
func persist(ctx context.Context, report func(driverkit.Answer), f func(context.Context) error) error {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 7, Cap: 10 * time.Second}
	return backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := f(ctx)
		if err == nil || apierrors.IsNotFound(err) {
			return err == nil, err
		}
		klog.FromContext(ctx).Info("Trying again", "reason", err.Error())
		report(driverkit.Answer{Message: err.Error()})
		return false, nil
	})
}
