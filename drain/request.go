// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// defaultVolumeTimeout is some times what a cloud needs to detach a volume.
const defaultVolumeTimeout = 2 * time.Minute

// Request says what to drain, and how. All but NodeName is optional.
type Request struct {
	// NodeName is the node to drain. Required.
	NodeName string

	// Mode says which pods are left to those who respond to Evictions. Empty means ModeAuto.
	Mode Mode

	// GracePeriodSeconds is how long each pod may take to end, at least 1. Nil means the pod's own. (With 0, the server
	// forgets a pod before its containers have ended, and nobody would know when the node is empty. A pod whose own is 0
	// gets 1.)
	GracePeriodSeconds *int64

	// Targets say which pods leave: those that at least one of them covers. None means every pod of PodTypeDefault.
	Targets []Target

	// Hold keeps Drain from returning: when its targets are reached, it says so in Status.Reached and goes on evicting
	// what comes, until ctx ends.
	Hold bool

	// PodTimeout is how long the drain waits for a pod, once its turn has come, before it lets the pods of later steps
	// leave too. A pod whose completion it waits for (WaitCompleted) is then evicted. Zero means without limit. A Rule
	// can shorten it.
	PodTimeout time.Duration

	// RefuseUnmanaged makes a pod without a controller, which nobody would start again, a Blocker: nothing is evicted
	// while there is one in scope. So does kubectl drain without --force.
	RefuseUnmanaged bool

	// RefuseLocalStorage does the same with a pod that has an emptyDir volume, whose content would be lost. So does
	// kubectl drain without --delete-emptydir-data.
	RefuseLocalStorage bool

	// Escalation says what happens to pods that do not leave. The zero value: nothing.
	Escalation Escalation

	// VolumeTimeout is how long to wait, once the pods are gone, until their volumes are detached. Nil means 2 min, zero
	// that the drain does not wait for them. What is still attached then is in Status.Left.
	VolumeTimeout *time.Duration
}

// Escalation is what follows an eviction that leads to nothing: delete the pod, then kill it. Each step has its own time,
// and zero means never.
type Escalation struct {
	// DeleteAfter is when a pod whose eviction is refused, or has no effect (EvictionWithoutEffect), is deleted, whatever its
	// budgets say: when it has been its turn and it has been refused for so long without a break. Pods that were deleted this
	// way are in Status.Overridden.
	//
	// After a break the time begins anew. It is a break when it is not the pod's turn, or it is waited for or left to
	// responders; when a budget lets one of its pods go, for all of them; when nobody may ask, because the node is not
	// cordoned, the request refuses a pod, or the rules of the namespace are bad; and when nobody could know: the API server
	// cannot be reached or asks to send less, it has not answered an eviction or deletion in time (EvictionTimedOut), or the
	// watch of the node, of its pods or of the namespace's budgets has failed. A connection that silently leads nowhere
	// counts as one that works until that is found out, which takes a minute or so.
	DeleteAfter time.Duration

	// KillAfter is when a pod that is terminating is deleted again with a grace period of 1 s: so long after it was
	// deleted first. The kubelet still confirms the end of its containers.
	KillAfter time.Duration
}

// PodType is a kind of pod, as NodeMaintenance (KEP-4212) tells them apart.
type PodType string

const (
	// PodTypeDefault is every pod that is neither of a DaemonSet nor static.
	PodTypeDefault PodType = "Default"
	// PodTypeDaemonSet is every pod of a DaemonSet. Its DaemonSet starts it again at once, unless somebody sees to it
	// that it does not.
	PodTypeDaemonSet PodType = "DaemonSet"
	// PodTypeStatic is every pod that the kubelet runs from a file or URL. Nobody can evict it: somebody on the machine must
	// take its manifest away (Config.StaticPods). Whatever else is in scope leaves before.
	PodTypeStatic PodType = "Static"
)

// Target covers the pods of a type up to a priority.
type Target struct {
	// PodType of the pods. Required.
	PodType PodType
	// PodPriority is the highest priority of the pods, of which one without a priority has 0. Nil means any.
	PodPriority *int32
	// Selector of the pods. Nil means all.
	Selector labels.Selector
}

func (r Request) validate() error {
	if r.NodeName == "" {
		return errors.New("drain: Request.NodeName is empty")
	}
	if r.GracePeriodSeconds != nil && *r.GracePeriodSeconds < 1 {
		return fmt.Errorf("drain: Request.GracePeriodSeconds is %d, it must be 1 or more", *r.GracePeriodSeconds)
	}
	switch r.mode() {
	case ModeAuto, ModeEvictionRequest, ModeEviction:
	default:
		return fmt.Errorf("drain: Request.Mode is %q, it must be %s, %s or %s", r.Mode, ModeAuto, ModeEvictionRequest, ModeEviction)
	}
	durations := []struct {
		field string
		value time.Duration
	}{
		{"PodTimeout", r.PodTimeout},
		{"Escalation.DeleteAfter", r.Escalation.DeleteAfter},
		{"Escalation.KillAfter", r.Escalation.KillAfter},
		{"VolumeTimeout", r.volumeTimeout()},
	}
	for _, d := range durations {
		if d.value < 0 {
			return fmt.Errorf("drain: Request.%s is %s, it must not be negative", d.field, d.value)
		}
	}
	for i, target := range r.Targets {
		switch target.PodType {
		case PodTypeDefault, PodTypeDaemonSet, PodTypeStatic:
		default:
			return fmt.Errorf("drain: Request.Targets[%d].PodType is %q, it must be %s, %s or %s", i, target.PodType,
				PodTypeDefault, PodTypeDaemonSet, PodTypeStatic)
		}
	}
	return nil
}

func (r Request) mode() Mode { return cmp.Or(r.Mode, ModeAuto) }

func (r Request) volumeTimeout() time.Duration {
	if r.VolumeTimeout == nil {
		return defaultVolumeTimeout
	}
	return *r.VolumeTimeout
}
