// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// CordonsAnnotation lists on a Node who of us cordoned it.
const CordonsAnnotation = cordons.Annotation

// maxOwners bounds the annotation. The oldest owners beyond it are dropped.
const maxOwners = 16

type (
	// Owner is an event that a Node is cordoned for.
	Owner = cordons.Owner
	// Foreign is a cordon that is not ours.
	Foreign = cordons.Foreign
)

// cordonState is the part of a Node that says whether it is cordoned, and for whom; and which
// static pods are to be away as long as it is.
type cordonState struct {
	unschedulable bool
	cordons       cordons.Noted
	wishes        []staticpod.Wish
	// wished is the text that they were read from.
	wished string
}

// Owners lists the events that the Node is cordoned for.
func Owners(node *corev1.Node) []types.UID {
	if node == nil {
		return nil
	}
	var uids []types.UID
	for _, owner := range stateOf(node).cordons.Owners {
		uids = append(uids, owner.UID)
	}
	return uids
}

// Cordons says for whom a Node is cordoned: for which events of ours, and by whom else, as
// far as that is known. Both are empty if it takes pods.
func Cordons(node *corev1.Node) (ours []Owner, others *Foreign) {
	state := stateOf(node)
	switch {
	case !state.unschedulable:
		return nil, nil
	case len(state.cordons.Owners) > 0:
		return state.cordons.Owners, state.cordons.Before
	default:
		found := cordons.By(node)
		return nil, &found
	}
}

// stateOf reads the Node.
func stateOf(node *corev1.Node) cordonState {
	return cordonState{
		unschedulable: node.Spec.Unschedulable, cordons: cordons.NotedOn(node),
		wishes: wishesOf(node), wished: node.Annotations[staticpod.Annotation],
	}
}

// isFor says whether the node is cordoned for an event.
func (s cordonState) isFor(uid types.UID) bool {
	return slices.ContainsFunc(s.cordons.Owners, func(o Owner) bool { return o.UID == uid })
}

// cordonedFor is the state once the node is cordoned for owner. found is the cordon
// that somebody else has made, as far as it is known.
func (s cordonState) cordonedFor(owner Owner, found Foreign) cordonState {
	switch {
	case !s.unschedulable: // whoever cordoned it before has thought better of it
		s.cordons.Before = nil
	case len(s.cordons.Owners) == 0:
		s.cordons.Before = &found
	}
	owners := s.cordons.Owners
	if !s.isFor(owner.UID) {
		owners = append(slices.Clone(owners), owner)
	}
	s.cordons.Owners = owners[max(0, len(owners)-maxOwners):]
	s.unschedulable = true
	return s
}

// releasedBy is the state once the cordon of one event is undone. The node stays
// cordoned for other events of ours, and for whoever cordoned it before.
func (s cordonState) releasedBy(uid types.UID) cordonState {
	s.wishes = staticpod.Without(s.wishes, uid)
	left := slices.DeleteFunc(slices.Clone(s.cordons.Owners), func(o Owner) bool { return o.UID == uid })
	if len(left) == len(s.cordons.Owners) {
		return s
	}
	if len(left) == 0 {
		return s.returned()
	}
	s.cordons.Owners = left
	return s
}

// returned is the state once all our cordons are undone.
func (s cordonState) returned() cordonState {
	if len(s.cordons.Owners) > 0 || s.cordons.Before != nil {
		s.unschedulable = s.unschedulable && s.cordons.Before != nil
	}
	s.cordons, s.wishes = cordons.Noted{}, nil
	return s
}

// patch is the JSON merge patch that makes to of it, or nil if they are the same.
func (s cordonState) patch(to cordonState, resourceVersion string) ([]byte, error) {
	annotations := map[string]any{}
	if !slices.Equal(s.cordons.Owners, to.cordons.Owners) || (s.cordons.Before == nil) != (to.cordons.Before == nil) {
		value, err := annotation(to.cordons)
		if err != nil {
			return nil, err
		}
		annotations[CordonsAnnotation] = value
	}
	switch wished, err := staticpod.Text(to.wishes); {
	case err != nil:
		return nil, err
	case wished == "" && s.wished != "":
		annotations[staticpod.Annotation] = nil
	case wished != s.wished:
		annotations[staticpod.Annotation] = wished
	}
	metadata, patch := map[string]any{}, map[string]any{}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if s.unschedulable != to.unschedulable {
		// Left out where it stays: the field keeps its manager, who is named later.
		patch["spec"] = map[string]any{"unschedulable": unschedulableValue(to.unschedulable)}
	}
	if len(metadata) == 0 && len(patch) == 0 {
		return nil, nil
	}
	metadata["resourceVersion"] = resourceVersion
	patch["metadata"] = metadata
	return json.Marshal(patch)
}

// unschedulableValue removes the field where it would be false, as kubectl does.
func unschedulableValue(unschedulable bool) any {
	if unschedulable {
		return true
	}
	return nil
}

// annotation is the value as written; null, which removes it, when there is nothing
// to say.
func annotation(c cordons.Noted) (any, error) {
	if len(c.Owners) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode annotation %s: %w", CordonsAnnotation, err)
	}
	return string(text), nil
}
