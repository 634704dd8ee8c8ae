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

// CordonsAnnotation lists the owners of the Node's cordon.
const CordonsAnnotation = cordons.Annotation

// maxOwners bounds the annotation. The oldest owners beyond it are dropped.
const maxOwners = 16

type (
	// Owner is an event that a Node is cordoned for.
	Owner = cordons.Owner
	// Foreign is a third-party cordon.
	Foreign = cordons.Foreign
)

// cordonState is the part of a Node that records whether and for which events it is cordoned, and which static pods
// must be away during the cordon.
type cordonState struct {
	unschedulable bool
	cordons       cordons.Record
	wishes        []staticpod.Wish
	// wished is the text of the wishes.
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

// Cordons returns the events for which Slipway has cordoned the Node, and the third-party cordon, whose
// writer may be unknown. Both are empty for a schedulable Node.
func Cordons(node *corev1.Node) (own []Owner, foreign *Foreign) {
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

func stateOf(node *corev1.Node) cordonState {
	wishes, _ := staticpod.WishesOn(node) // an unreadable annotation was not written by Slipway
	return cordonState{
		unschedulable: node.Spec.Unschedulable, cordons: cordons.On(node),
		wishes: wishes, wished: node.Annotations[staticpod.Annotation],
	}
}

// isFor reports whether the node is cordoned for an event.
func (s cordonState) isFor(uid types.UID) bool {
	return slices.ContainsFunc(s.cordons.Owners, func(o Owner) bool { return o.UID == uid })
}

// cordonedFor returns the state with a cordon for owner. found is the third-party cordon, as far as it is known.
func (s cordonState) cordonedFor(owner Owner, found Foreign) cordonState {
	switch {
	case !s.unschedulable: // the third party has undone its cordon
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

// releasedBy returns the state without the cordon for one event. The node stays cordoned for other events, and for a
// third party that cordoned it first.
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

// returned returns the state without any cordon of Slipway.
func (s cordonState) returned() cordonState {
	if len(s.cordons.Owners) > 0 || s.cordons.Before != nil {
		s.unschedulable = s.unschedulable && s.cordons.Before != nil
	}
	s.cordons, s.wishes = cordons.Record{}, nil
	return s
}

// patch returns the JSON merge patch from s to another state; nil if they are equal.
func (s cordonState) patch(to cordonState, resourceVersion string) ([]byte, error) {
	annotations := map[string]any{}
	if !slices.Equal(s.cordons.Owners, to.cordons.Owners) || (s.cordons.Before == nil) != (to.cordons.Before == nil) {
		text, err := textOf(to.cordons)
		if err != nil {
			return nil, err
		}
		annotations[CordonsAnnotation] = orNull(text)
	}
	wished, err := staticpod.Text(to.wishes)
	if err != nil {
		return nil, err
	}
	if wished != s.wished {
		annotations[staticpod.Annotation] = orNull(wished)
	}
	metadata, patch := map[string]any{}, map[string]any{}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	switch {
	case s.unschedulable == to.unschedulable: // left out, so that the field keeps its manager, which a return reports
	case to.unschedulable:
		patch["spec"] = map[string]any{"unschedulable": true}
	default: // kubectl removes the field, too
		patch["spec"] = map[string]any{"unschedulable": nil}
	}
	if len(metadata) == 0 && len(patch) == 0 {
		return nil, nil
	}
	metadata["resourceVersion"] = resourceVersion
	patch["metadata"] = metadata
	return json.Marshal(patch)
}

// textOf returns the value of the annotation; empty without owners.
func textOf(c cordons.Record) (string, error) {
	if len(c.Owners) == 0 {
		return "", nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", CordonsAnnotation, err)
	}
	return string(text), nil
}
