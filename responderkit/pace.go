// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// heartbeatEvery is what the KEP recommends: of the 20 minutes after which a
	// responder counts as silent, it leaves enough for the process to be disturbed.
	heartbeatEvery = 3 * time.Minute
	// heartbeatGap is the least that the API asks to leave between two heartbeats.
	heartbeatGap = 20 * time.Second
	// serverSkew is how far the server lets a time be from its own.
	serverSkew = 30 * time.Second
	// maxMessage is in characters.
	maxMessage = 4000
)

// facts are what is known of one run.
type facts struct {
	// entry is the responder's, as the Eviction was seen last.
	entry evictionv1alpha1.ResponderStatus
	// progress was reported last.
	progress Progress
	// returned: the run is done, with failure or without.
	returned bool
	failure  error
	// written is when the entry was written last by this process.
	written time.Time
}

// next is the entry to write now; or, where that is nil, how long there will be nothing
// to write unless something changes.
func next(f facts, now time.Time) (*evictionv1alpha1.ResponderStatus, time.Duration) {
	entry := *f.entry.DeepCopy()
	entry.Message = message(f)
	entry.ExpectedCompletionTime = expected(f, now)
	if f.returned {
		stamp := timestamp(f.entry, now)
		entry.CompletionTime = &stamp
		return &entry, 0
	}
	gap := heartbeatEvery
	if text(entry.Message) != text(f.entry.Message) || !entry.ExpectedCompletionTime.Equal(f.entry.ExpectedCompletionTime) {
		gap = heartbeatGap
	}
	if wait := lastWrite(f, now).Add(gap).Sub(now); wait > 0 {
		return nil, wait
	}
	stamp := timestamp(f.entry, now)
	entry.HeartbeatTime = &stamp
	return &entry, 0
}

// lastWrite is the last heartbeat, also that of a process before. One that is further
// ahead than clocks may be says nothing.
func lastWrite(f facts, now time.Time) time.Time {
	seen := f.entry.HeartbeatTime
	if seen == nil || !seen.After(f.written) || seen.Sub(now) > serverSkew {
		return f.written
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

// clip keeps what the API allows of a message.
func clip(message string) string {
	characters := []rune(strings.ToValidUTF8(message, "\uFFFD"))
	if len(characters) > maxMessage {
		characters = append(characters[:maxMessage-1], '…')
	}
	return string(characters)
}

// expected is the estimate to write. The server refuses one that has passed, and nobody
// has any use for it once the run is done.
func expected(f facts, now time.Time) *metav1.Time {
	at := f.progress.ExpectedCompletion.Truncate(time.Second)
	if f.returned || !at.After(timestamp(f.entry, now).Time) {
		return nil
	}
	return &metav1.Time{Time: at}
}

// timestamp is now, in whole seconds. The server refuses a time before the responder's
// start or its last heartbeat, and those were perhaps written by processes whose clocks
// are ahead: by as much as the server bears, it is theirs that is taken.
func timestamp(entry evictionv1alpha1.ResponderStatus, now time.Time) metav1.Time {
	stamp := now.Truncate(time.Second)
	for _, before := range []*metav1.Time{entry.StartTime, entry.HeartbeatTime} {
		if before != nil && before.After(stamp) && before.Sub(now) <= serverSkew {
			stamp = before.Time
		}
	}
	return metav1.Time{Time: stamp}
}
