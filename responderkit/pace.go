// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// heartbeatEvery follows the recommendation of the KEP: it leaves enough of the 20
	// minutes until the responder counts as silent, even if the process is interrupted.
	heartbeatEvery = 3 * time.Minute
	// heartbeatGap is the minimum time between two heartbeats that the API recommends.
	heartbeatGap = 20 * time.Second
	// changeDelay delays a change soon after a heartbeat. One such change is written without
	// another heartbeat, further changes with the next one.
	changeDelay = 2 * time.Second
	// serverSkew is the server's limit for the difference of a time from its own.
	serverSkew = 30 * time.Second
	// maxMessage is in characters.
	maxMessage = 4000
)

// facts are the known facts of one run.
type facts struct {
	// entry is the responder's entry in the last seen version of the Eviction.
	entry evictionv1alpha1.ResponderStatus
	// progress is the last report.
	progress Progress
	// returned: the run has returned, with or without an error.
	returned bool
	failure  error
	// beat is the time of the last heartbeat that this process wrote.
	beat time.Time
	// followed: a change was written since that heartbeat.
	followed bool
}

// next returns the entry to write now, and whether it has a new heartbeat. If it is nil, the
// duration is the time until the next write, if there is no change before.
func next(f facts, now time.Time) (write *evictionv1alpha1.ResponderStatus, beats bool, wait time.Duration) {
	entry := *f.entry.DeepCopy()
	entry.Message = message(f)
	entry.ExpectedCompletionTime = expected(f, now)
	if f.returned {
		stamp := timestamp(f.entry, now)
		entry.CompletionTime = &stamp
		return &entry, false, 0
	}
	changed := text(entry.Message) != text(f.entry.Message) || !entry.ExpectedCompletionTime.Equal(f.entry.ExpectedCompletionTime)
	gap := heartbeatEvery
	if changed {
		gap = heartbeatGap
	}
	last := lastBeat(f, now)
	if wait = last.Add(gap).Sub(now); wait <= 0 {
		stamp := timestamp(f.entry, now)
		entry.HeartbeatTime = &stamp
		return &entry, true, 0
	}
	if !changed || f.followed {
		return nil, false, wait
	}
	if wait = min(wait, last.Add(changeDelay).Sub(now)); wait > 0 {
		return nil, false, wait
	}
	return &entry, false, 0
}

// lastBeat returns the time of the last heartbeat, also of an earlier process. It ignores
// a time that is further ahead than clocks may differ.
func lastBeat(f facts, now time.Time) time.Time {
	seen := f.entry.HeartbeatTime
	if seen == nil || !seen.After(f.beat) || seen.Sub(now) > serverSkew {
		return f.beat
	}
	return seen.Time
}

func text(message *string) string {
	if message == nil {
		return ""
	}
	return *message
}

func message(f facts) *string {
	said := f.progress.Message
	if f.returned && f.failure != nil {
		said = "failed: " + f.failure.Error()
	}
	if said == "" {
		return nil
	}
	said = clip(said)
	return &said
}

// clip shortens a message to the API's limit.
func clip(message string) string {
	characters := []rune(strings.ToValidUTF8(message, "\uFFFD"))
	if len(characters) > maxMessage {
		characters = append(characters[:maxMessage-1], '…')
	}
	return string(characters)
}

// expected returns the estimate to write. The server rejects a time in the past, and the
// estimate is useless after the end of the run.
func expected(f facts, now time.Time) *metav1.Time {
	at := f.progress.ExpectedCompletion.Truncate(time.Second)
	if f.returned || !at.After(timestamp(f.entry, now).Time) {
		return nil
	}
	return &metav1.Time{Time: at}
}

// timestamp returns now, in whole seconds. The server rejects a time before the responder's
// start or its last heartbeat. Processes whose clocks are ahead may have written these:
// within the server's tolerance, timestamp returns their time instead.
func timestamp(entry evictionv1alpha1.ResponderStatus, now time.Time) metav1.Time {
	stamp := now.Truncate(time.Second)
	for _, before := range []*metav1.Time{entry.StartTime, entry.HeartbeatTime} {
		if before != nil && before.After(stamp) && before.Sub(now) <= serverSkew {
			stamp = before.Time
		}
	}
	return metav1.Time{Time: stamp}
}
