// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
)

// drain cordons the node and evicts its pods. It returns when no pod is left.
func (p *plugin) drain(ctx context.Context, call driverkit.Call, report func(driverkit.Answer)) error {
	request, err := p.request(call)
	if err != nil {
		return err
	}
	begun := driverkit.Answer{}
	if request.Hold {
		// Newer parameters begin a new run, which has not reached its targets.
		begun.EventConditions = []driverkit.Condition{targetsReached(false, true)}
		report(begun)
	}
	if err = p.cordon(ctx, call, report); err != nil {
		return err
	}
	begun.NodeConditions = inProgress(cause(call.Transition), "")
	report(begun)
	return p.drainStatics(ctx, call, request, report)
}

// cordonAnswer limits the wait for the server's answer to one write of the cordon.
const cordonAnswer = 10 * time.Second

// cordon cordons the node. A drain that is stopped meanwhile waits for the answer: the agent undoes the cordon of a canceled
// drain when the drain has stopped, so a cordon that the server writes after that would stay.
func (p *plugin) cordon(ctx context.Context, call driverkit.Call, report func(driverkit.Answer)) error {
	return persist(ctx, report, func(ctx context.Context) error {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cordonAnswer)
		defer stop()
		return p.node(call.Node).Cordon(ctx, call.Event, types.UID(call.EventUID))
	})
}

// startWait limits the time of a Start. The agent waits for 45 s.
const startWait = 10 * time.Second

// cordonFirst answers the Start of a drain when the node is cordoned, so that the state of the start follows the act. A
// trouble, which the answer names, does not delay the answer.
type cordonFirst struct{ driverkit.Driver }

// Start begins the work. Its answer is never the end of a drain, which has the state of the start first.
func (d cordonFirst) Start(ctx context.Context, call driverkit.Call) (driverkit.Answer, error) {
	answer, err := d.Driver.Start(ctx, call)
	if strings.HasSuffix(call.Transition, returnSuffix) {
		return answer, err
	}
	ctx, stop := context.WithTimeout(ctx, startWait)
	defer stop()
	call.Wait = startWait
	for err == nil && !answer.Done && len(answer.NodeConditions) == 0 && answer.Message == "" {
		answer, err = d.End(ctx, call)
	}
	answer.Done = false
	return answer, err
}

// Close ends the work.
func (d cordonFirst) Close(ctx context.Context) error {
	if closer, ok := d.Driver.(driverkit.Closer); ok {
		return closer.Close(ctx)
	}
	return nil
}

func (p *plugin) request(call driverkit.Call) (drain.Request, error) {
	request, err := drainparameters.Parse(call.Parameters)
	if err != nil {
		return drain.Request{}, err
	}
	request.NodeName, request.KeepOwnPods = call.Node, call.OnlyNode
	if request.GracePeriodSeconds == nil && p.options.GracePeriodSeconds >= 0 {
		request.GracePeriodSeconds = new(p.options.GracePeriodSeconds)
	}
	return request, nil
}

// answer reports the progress of a drain.
func answer(request drain.Request, cause string, s drain.Status) driverkit.Answer {
	a := driverkit.Answer{
		Message: s.Message, Progress: &driverkit.Progress{Total: int32(s.Total), Done: int32(s.Done)}, BlockersTotal: len(s.Blockers),
		EventConditions: conditions(request, s), NodeConditions: nodeConditions(cause, s),
	}
	if s.Named != nil {
		a.LeftToResponders = []driverkit.Pod{}
	}
	for _, named := range s.Named {
		a.LeftToResponders = append(a.LeftToResponders, driverkit.Pod{Namespace: named.Namespace, Name: named.Name, UID: string(named.UID)})
	}
	for _, b := range s.Blockers {
		a.Blockers = append(a.Blockers, blocker(request.NodeName, b))
	}
	return a
}

func blocker(node string, b drain.Blocker) driverkit.Blocker {
	object := "Node " + node
	if b.Pod.Name != "" {
		object = "Pod " + b.Pod.String()
	}
	return driverkit.Blocker{Object: object, Reason: string(b.Reason), By: blocking(b), Message: b.Message, Since: b.Since}
}

// blocking returns the blocking object with its kind.
func blocking(b drain.Blocker) string {
	if b.By == "" {
		return ""
	}
	switch b.Reason {
	case drain.BudgetExhausted, drain.BudgetImpossible, drain.BudgetNotObserved, drain.BudgetSyncFailed, drain.MultipleBudgets:
		kind := "PodDisruptionBudget " + b.Pod.Namespace + "/"
		return kind + strings.ReplaceAll(b.By, ", ", ", "+kind)
	case drain.NamespaceTerminating:
		return "Namespace " + b.By
	case drain.NodeNotCordoned, drain.NodeTaintMissing, drain.NodeGone, drain.NodeNotReady:
		return "Node " + b.By
	case drain.Frozen:
		return "Freeze " + b.By
	case drain.WaitingForCompletion, drain.PodSkipped:
		return "DrainRule " + b.By
	case drain.AwaitingResponder, drain.ResponderMissing, drain.RespondersFailed:
		return "Eviction " + b.By
	case drain.VolumeAttached, drain.LocalStorage:
		return "Volume " + b.By
	default:
		return b.By
	}
}
