// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// defaultVolumeTimeout is several times the time that a cloud needs to detach a volume.
const defaultVolumeTimeout = 2 * time.Minute

// Request is a request for a drain. All fields except NodeName are optional.
type Request struct {
	// NodeName is the node to drain. Required.
	NodeName string

	// Mode selects the pods that are left to the responders of Evictions. Empty means ModeAuto.
	Mode Mode

	// GracePeriodSeconds is the grace period of each pod, at least 1. Nil means the pod's own. (With 0, the server
	// forgets a pod before its containers have ended, and an empty node could not be recognized. A pod whose own is 0
	// gets 1.)
	GracePeriodSeconds *int64

	// Targets select the pods that leave: the pods that at least one target covers. Without targets, every pod of PodTypeDefault leaves.
	Targets []Target

	// KeepOwnPods keeps the pods of Config.OwnNamespace on the node, because they can run on no other node.
	KeepOwnPods bool

	// Hold keeps Drain from returning: when its targets are reached, it sets Status.Reached and continues to evict new pods
	// until ctx ends.
	Hold bool

	// PodTimeout limits the time that the drain waits for a pod of the current step before it begins the next step. It then
	// evicts a pod whose completion it waits for (WaitCompleted). Zero means without limit. A Rule can shorten it.
	PodTimeout time.Duration

	// PassFreezes evicts pods also while a rule freezes them (Freeze): in an emergency.
	PassFreezes bool

	// RefuseUnmanaged makes a pod without a controller, which no controller would start again, a Blocker: the drain evicts no
	// pod while such a pod is in scope. kubectl drain refuses it, too, without --force.
	RefuseUnmanaged bool

	// RefuseLocalStorage treats a pod with an emptyDir volume, whose content would be lost, in the same way, as kubectl
	// drain does without --delete-emptydir-data.
	RefuseLocalStorage bool

	// Escalation follows refused evictions. The zero value: none.
	Escalation Escalation

	// VolumeTimeout limits the wait, after the last pod, until the pods' volumes are detached. Nil means 2 min, zero no wait.
	// Volumes that are still attached then are in Status.Left.
	VolumeTimeout *time.Duration
}

// Escalation follows an eviction without effect: delete the pod, then kill it. Each step has its own time,
// and zero means never.
type Escalation struct {
	// DeleteAfter deletes a pod whose eviction is refused, or has no effect (EvictionWithoutEffect), and overrides its
	// budgets: when its step has come and its eviction has been refused for that time without a break. Status.Overridden lists
	// the pods that were deleted in this way.
	//
	// After a break the time begins again. A break is a time in which the pod waits for its step, for its completion or for
	// responders; a moment in which a budget lets one of its pods leave, for all its pods; a time in which no eviction is allowed,
	// because the node is not cordoned, the request refuses a pod, or the rules of the namespace are bad; and a time in which
	// refusals are unknown: the API server cannot be reached or requests fewer requests, it has not answered an eviction or
	// deletion in time (EvictionTimedOut), or the watch of the node, of its pods or of the namespace's budgets has failed. The
	// detection of a dead connection takes a minute or so, and the connection counts as alive until then.
	DeleteAfter time.Duration

	// KillAfter deletes a terminating pod again with a grace period of 1 s: that time after its first deletion. The kubelet
	// still confirms the end of its containers.
	KillAfter time.Duration
}

// PodType is a kind of pod, as in NodeMaintenance (KEP-4212).
type PodType string

const (
	// PodTypeDefault is every pod that is neither of a DaemonSet nor static.
	PodTypeDefault PodType = "Default"
	// PodTypeDaemonSet is every pod of a DaemonSet. Its DaemonSet starts it again at once, unless another program prevents
	// that.
	PodTypeDaemonSet PodType = "DaemonSet"
	// PodTypeStatic is every pod that the kubelet runs from a file or URL. No eviction moves it: a process on the machine must
	// remove its manifest (Config.StaticPods). All other pods in scope leave before.
	PodTypeStatic PodType = "Static"
)

// Target covers the pods of a type up to a priority.
type Target struct {
	// PodType of the pods. Required.
	PodType PodType
	// PodPriority is the highest priority of the pods; a pod without a priority has 0. Nil means any.
	PodPriority *int32
	// Selector of the pods. Nil means all.
	Selector labels.Selector
}

func (r Request) validate() error {
	switch {
	case r.NodeName == "":
		return errors.New("drain: Request.NodeName is empty")
	case r.GracePeriodSeconds != nil && *r.GracePeriodSeconds < 1:
		return fmt.Errorf("drain: Request.GracePeriodSeconds is %d, it must be 1 or more", *r.GracePeriodSeconds)
	case !slices.Contains([]Mode{ModeAuto, ModeEvictionRequest, ModeEviction}, r.mode()):
		return fmt.Errorf("drain: Request.Mode is %q, it must be %s, %s or %s", r.Mode, ModeAuto, ModeEvictionRequest, ModeEviction)
	}
	for field, value := range map[string]time.Duration{
		"PodTimeout":             r.PodTimeout,
		"Escalation.DeleteAfter": r.Escalation.DeleteAfter,
		"Escalation.KillAfter":   r.Escalation.KillAfter,
		"VolumeTimeout":          r.volumeTimeout(),
	} {
		if value < 0 {
			return fmt.Errorf("drain: Request.%s is %s, it must not be negative", field, value)
		}
	}
	for i, target := range r.Targets {
		if !slices.Contains([]PodType{PodTypeDefault, PodTypeDaemonSet, PodTypeStatic}, target.PodType) {
			return fmt.Errorf("drain: Request.Targets[%d].PodType is %q, it must be %s, %s or %s", i, target.PodType,
				PodTypeDefault, PodTypeDaemonSet, PodTypeStatic)
		}
	}
	return nil
}

func (r Request) mode() Mode { return cmp.Or(r.Mode, ModeAuto) }

func (r Request) volumeTimeout() time.Duration {
	return ptr.Deref(r.VolumeTimeout, defaultVolumeTimeout)
}
