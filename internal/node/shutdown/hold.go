// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
)

const (
	// lateness is the maximum delay of logind after its limit.
	lateness = 10 * time.Second
	// askAgain is the interval of questions to logind during a shutdown: logind does not report a cancellation
	// ([github.com/slipway-k8s/slipway/internal/host/logind.Manager.Changed]). A question costs the machine some
	// messages, and the API server no request.
	askAgain = 2 * time.Second
)

// HostFacts are the known facts on the machine.
type HostFacts struct {
	// BootID of the machine.
	BootID string
	// Preparing means that a shutdown has begun. Begun is the time at which this process saw that; zero if the shutdown
	// began before the process.
	Preparing bool
	Begun     time.Time
	// Stopping means that systemd stops the machine, or that its state is unknown: logind waits no longer.
	Stopping bool
	// DelayMax is the maximum delay of logind.
	DelayMax time.Duration
	// Locked means that this process has a lock; Refused, that logind refused the last request for one.
	Locked, Refused bool
	// Node is nil while it is unknown.
	Node *corev1.Node
}

// HostStep is one step on the machine. Repeating it is harmless.
type HostStep interface{ isHostStep() }

type (
	// TakeLock takes a lock of logind.
	TakeLock struct{}
	// ReportDelay records the maximum delay of logind on the Node.
	ReportDelay struct{ Delay time.Duration }
	// Announce announces the shutdown on the Node.
	Announce struct {
		Announcement Announcement
		Condition    corev1.NodeCondition
	}
	// Withdraw removes the announcement of a canceled shutdown.
	Withdraw struct{ Condition corev1.NodeCondition }
	// ReleaseLock lets the shutdown continue.
	ReleaseLock struct{ Event string }
)

func (TakeLock) isHostStep()    {}
func (ReportDelay) isHostStep() {}
func (Announce) isHostStep()    {}
func (Withdraw) isHostStep()    {}
func (ReleaseLock) isHostStep() {}

// Hold returns the next step on the machine, and the time of the next decision. It releases the machine only when its
// pods have left: logind knows the end of its delay.
func Hold(f HostFacts, now time.Time) (next decision.Of[HostStep]) {
	said := AnnouncedOn(f.Node)
	mine := said != nil && said.BootID == f.BootID
	switch {
	case !f.Preparing && !f.Locked && (!f.Refused || !mine): // the lock comes first: it needs no API server
		next.Step = TakeLock{}
	case !f.Preparing && mine:
		next.Step = Withdraw{condition(corev1.ConditionFalse, ReasonCanceled, "the shutdown was canceled", now)}
	case !f.Preparing && f.Node != nil && !hasDelay(f.Node, f.DelayMax):
		next.Step = ReportDelay{f.DelayMax}
	case !f.Preparing, f.Node == nil, f.Node.Status.NodeInfo.BootID != f.BootID:
		// An announcement with another boot ID than the Node's would look like a machine that has booted.
	case !mine, said.Since.Before(f.Begun), f.Begun.IsZero() && isFormer(f, *said, now):
		next.Step = announce(f, now)
	case f.Locked && hasSucceeded(f.Node, *said) && f.Node.Spec.Unschedulable: // a schedulable node may have new pods
		next.Step = ReleaseLock{Event: DrainedOn(f.Node).Event}
	}
	if next.Step == nil && f.Preparing && !f.Stopping {
		next.Wake = now.Add(askAgain)
	}
	return next
}

func hasDelay(node *corev1.Node, delay time.Duration) bool {
	recorded, known := DelayOn(node)
	return known && recorded == delay
}

// isFormer reports whether an announcement is about a former shutdown in this boot, which was canceled while no
// process could withdraw the announcement. Then either logind's delay has ended, or the node was drained and has
// returned.
func isFormer(f HostFacts, said Announcement, now time.Time) bool {
	over := !f.Stopping && !now.Before(said.Until.Add(lateness))
	return over || hasSucceeded(f.Node, said) && !f.Node.Spec.Unschedulable
}

// announce returns the announcement of the current shutdown. A process that started during the shutdown counts from
// now, although the pods may have less time than announced.
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

func hasSucceeded(node *corev1.Node, said Announcement) bool {
	d := DrainedOn(node)
	return d != nil && d.Shutdown == said.ID() && d.Outcome == lifecyclev1alpha1.Succeeded
}

func condition(status corev1.ConditionStatus, reason, message string, now time.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeGracefulNodeShutdownInProgress, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
}
