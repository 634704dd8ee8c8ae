// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
)

// lateness is by how much logind may be late, when its limit is reached.
const lateness = 10 * time.Second

// askAgain is how often logind is asked, while a shutdown goes on, whether it still does: that it was
// called off, nobody is told ([github.com/slipway-k8s/slipway/internal/host/logind.Manager.Changed]). It
// costs the machine some messages, and the API server nothing.
const askAgain = 2 * time.Second

// HostFacts is all that is known on the machine.
type HostFacts struct {
	// BootID is the machine's.
	BootID string
	// Preparing: a shutdown has begun. Begun is when this process saw it begin; zero, where
	// it had begun before the process did.
	Preparing bool
	Begun     time.Time
	// Stopping: logind waits no longer, and systemd stops the machine; or nobody can tell.
	Stopping bool
	// DelayMax is how long logind lets itself be delayed.
	DelayMax time.Duration
	// Locked: there is a lock of ours. Refused: logind has refused us one when it was asked last.
	Locked, Refused bool
	// Node is nil as long as it is not known.
	Node *corev1.Node
}

// HostStep is one thing to do on the machine. Each may be done twice.
type HostStep interface{ isHostStep() }

type (
	// TakeLock takes a lock of logind.
	TakeLock struct{}
	// SayDelay says on the Node how long logind lets itself be delayed.
	SayDelay struct{ Delay time.Duration }
	// Announce says on the Node that a shutdown has begun.
	Announce struct {
		Announcement Announcement
		Condition    corev1.NodeCondition
	}
	// Withdraw takes the announcement back: the shutdown was called off.
	Withdraw struct{ Condition corev1.NodeCondition }
	// ReleaseLock lets the machine go.
	ReleaseLock struct{ Event string }
)

func (TakeLock) isHostStep()    {}
func (SayDelay) isHostStep()    {}
func (Announce) isHostStep()    {}
func (Withdraw) isHostStep()    {}
func (ReleaseLock) isHostStep() {}

// Hold is the next step on the machine, if there is one, and when to ask again. It lets the
// machine go when its pods are gone and never else: that the delay is over is for logind to say.
func Hold(f HostFacts, now time.Time) (next decision.Of[HostStep]) {
	said := AnnouncedOn(f.Node)
	mine := said != nil && said.BootID == f.BootID
	switch {
	case !f.Preparing && !f.Locked && (!f.Refused || !mine): // first of all: it needs no API server
		next.Step = TakeLock{}
	case !f.Preparing && mine:
		next.Step = Withdraw{condition(corev1.ConditionFalse, ReasonCanceled, "the shutdown was called off", now)}
	case !f.Preparing && f.Node != nil && !saysDelay(f.Node, f.DelayMax):
		next.Step = SayDelay{f.DelayMax}
	case !f.Preparing, f.Node == nil, f.Node.Status.NodeInfo.BootID != f.BootID:
		// who compares boot IDs would take it for a machine that has booted
	case !mine, said.Since.Before(f.Begun), f.Begun.IsZero() && isAnothers(f, *said, now):
		next.Step = announce(f, now)
	case f.Locked && drained(f.Node, *said):
		next.Step = ReleaseLock{Event: DrainedOn(f.Node).Event}
	}
	if next.Step == nil && f.Preparing && !f.Stopping {
		next.Wake = now.Add(askAgain)
	}
	return next
}

// isAnothers says of an announcement, where this process has not seen the shutdown begin, that
// it is of one before in this boot: that was called off while nobody was there to withdraw it.
// Either logind would have gone on without us by now; or the node was drained, and has been put
// back.
func isAnothers(f HostFacts, said Announcement, now time.Time) bool {
	over := !f.Stopping && !now.Before(said.Until.Add(lateness))
	return over || hasSucceeded(f.Node, said) && !f.Node.Spec.Unschedulable
}

// announce is of what has begun. A process that was not there then counts from now: that the
// pods may have less time than it says, they have not got from it.
func announce(f HostFacts, now time.Time) Announce {
	since := f.Begun
	if since.IsZero() {
		since = now
	}
	since = since.UTC().Truncate(time.Microsecond).Add(time.Microsecond) // not before Begun
	return Announce{
		Announcement{BootID: f.BootID, Since: since, Until: since.Add(f.DelayMax)},
		condition(corev1.ConditionTrue, ReasonNodeShutdown, "the machine is being shut down", now),
	}
}

// drained says whether the node is still as the drain has left it: what pods there are on one
// that takes pods again, nobody knows.
func drained(node *corev1.Node, said Announcement) bool {
	return hasSucceeded(node, said) && node.Spec.Unschedulable
}

func hasSucceeded(node *corev1.Node, said Announcement) bool {
	d := DrainedOn(node)
	return d != nil && d.Shutdown == said.ID() && d.Outcome == lifecyclev1alpha1.Succeeded
}

// Reasons of the Node's condition GracefulNodeShutdownInProgress.
const (
	// ReasonNodeShutdown: it is True, a shutdown has begun.
	ReasonNodeShutdown = "NodeShutdown"
	// ReasonCanceled: the shutdown was called off.
	ReasonCanceled = "ShutdownCanceled"
	// ReasonFinished: the machine has booted again, and was drained before it went down.
	ReasonFinished = "ShutdownFinished"
	// ReasonUnfinished: the machine has booted again, and went down before it was drained.
	ReasonUnfinished = "ShutdownUnfinished"
)

func condition(status corev1.ConditionStatus, reason, message string, now time.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeGracefulNodeShutdownInProgress, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
}
