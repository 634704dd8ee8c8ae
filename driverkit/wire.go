// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"time"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

const (
	// maxWait limits the delay of an answer, regardless of the caller's value.
	maxWait = 30 * time.Second
	// maxBlockers limits the blockers in an answer. The total shows that there are more.
	maxBlockers = 20
	// maxLeft limits the pods in an answer. More pods follow after their deletion.
	maxLeft = 500
)

// request has the common fields of the requests of both methods.
type request interface { //nolint:interfacebloat // the fields of a message
	GetTransitionName() string
	GetEventName() string
	GetEventUid() string
	GetNodeName() string
	GetStart() string
	GetEnd() string
	GetParameters() []byte
	GetParametersGeneration() int64
	GetOnlyNode() bool
}

// toCall reads a request. An empty node name means the own node.
func toCall(req request, ownNode string) Call {
	call := Call{
		Transition:           req.GetTransitionName(),
		Event:                req.GetEventName(),
		EventUID:             req.GetEventUid(),
		Node:                 req.GetNodeName(),
		StartState:           req.GetStart(),
		EndState:             req.GetEnd(),
		Parameters:           req.GetParameters(),
		ParametersGeneration: req.GetParametersGeneration(),
		OnlyNode:             req.GetOnlyNode(),
	}
	if call.EventUID == "" {
		call.EventUID = call.Event
	}
	if call.Node == "" {
		call.Node = ownNode
	}
	return call
}

// toWait reads the permitted delay of an answer.
func toWait(req *driverv1.EndLifecycleTransitionRequest) time.Duration {
	return min(max(req.GetWait().AsDuration(), 0), maxWait)
}

// toResponse writes an answer to a call.
func toResponse(call Call, answer Answer) *driverv1.LifecycleTransitionResponse {
	response := &driverv1.LifecycleTransitionResponse{
		LifecycleCondition: call.StartState,
		NodeName:           call.Node,
		Message:            answer.Message,
		BlockersTotal:      int32(max(answer.BlockersTotal, len(answer.Blockers))),
		NodeConditions:     toConditions(answer.NodeConditions),
		EventConditions:    toConditions(answer.EventConditions),
		Waits:              answer.Waits,
	}
	if answer.Done {
		response.LifecycleCondition = call.EndState
	}
	if answer.Progress != nil {
		response.Progress = &driverv1.Progress{Total: answer.Progress.Total, Done: answer.Progress.Done}
	}
	if answer.LeftToResponders != nil {
		response.LeftToResponders = toPods(answer.LeftToResponders)
	}
	for _, blocker := range answer.Blockers[:min(len(answer.Blockers), maxBlockers)] {
		response.Blockers = append(response.Blockers, toBlocker(blocker))
	}
	return response
}

func toPods(pods []Pod) *driverv1.Pods {
	wire := &driverv1.Pods{}
	for _, pod := range pods[:min(len(pods), maxLeft)] {
		wire.Pods = append(wire.Pods, &driverv1.PodReference{Namespace: pod.Namespace, Name: pod.Name, Uid: pod.UID})
	}
	return wire
}

func toBlocker(blocker Blocker) *driverv1.Blocker {
	wire := &driverv1.Blocker{
		Object:  blocker.Object,
		Reason:  blocker.Reason,
		By:      blocker.By,
		Message: blocker.Message,
	}
	if !blocker.Since.IsZero() {
		wire.SinceSeconds = blocker.Since.Unix()
	}
	return wire
}

func toConditions(conditions []Condition) []*driverv1.Condition {
	var wire []*driverv1.Condition
	for _, condition := range conditions {
		wire = append(wire, &driverv1.Condition{
			Type:    condition.Type,
			Status:  string(condition.Status),
			Reason:  condition.Reason,
			Message: condition.Message,
		})
	}
	return wire
}
