// SPDX-License-Identifier: Apache-2.0

package transition

import "time"

const (
	// ReadinessTimeout is how long a registered driver may take to answer before an
	// event that needs it fails (KEP-5683, claim failure).
	ReadinessTimeout = 30 * time.Second
	// DeregistrationTimeout is how long a driver may be away before its transitions of
	// this node are deleted (KEP-5683).
	DeregistrationTimeout = 30 * time.Second
	// PollInterval is how often End is called for a driver that does not wait.
	PollInterval = 10 * time.Second
	// LastEndTimeout is how long a terminal phase waits for the driver to answer its
	// last End. The event itself waits longer: until the driver answers or is gone.
	LastEndTimeout = 10 * time.Second

	// registerTimeout is how long a driver may take to be seen after we began to look,
	// before a claimed event says that it is missing.
	registerTimeout = 10 * time.Second
	// notReadyAfter keeps a driver that answers at once from being noted as not ready.
	notReadyAfter = time.Second
	// progressInterval is the least time between two writes of progress.
	progressInterval = 2 * time.Second
	// nodeMessageInterval is the least time between two writes of a Node condition of
	// which only the message differs.
	nodeMessageInterval = 30 * time.Second
	// waitInterval keeps a driver that claims to wait and does not from being called in
	// a tight loop.
	waitInterval = 100 * time.Millisecond
	// retryBase and retryCap bound the backoff after calls that ended with "ask again".
	retryBase = 500 * time.Millisecond
	retryCap  = PollInterval
)

// retryDelay doubles with each failure in a row.
func retryDelay(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	if failures > 6 {
		return retryCap
	}
	return min(retryBase<<(failures-1), retryCap)
}

// deadline is the time of the claim plus the sla, rounded up to a second, which is
// what the API can hold.
func deadline(claimed time.Time, sla time.Duration) time.Time {
	t := claimed.Add(sla)
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		return whole.Add(time.Second)
	}
	return t
}
