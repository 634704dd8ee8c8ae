// SPDX-License-Identifier: Apache-2.0

package transition

import "time"

const (
	// ReadinessTimeout limits the first answer of a registered driver. After it, the event fails (KEP-5683, claim failure).
	ReadinessTimeout = 30 * time.Second
	// DeregistrationTimeout is the time between the deregistration of a driver and the deletion of its transitions of this
	// node (KEP-5683).
	DeregistrationTimeout = 30 * time.Second
	// MissingTimeout limits the absence of the driver of a claimed event. After it, the event fails, and the next event of the
	// node can be claimed. An update of a driver takes less.
	MissingTimeout = 10 * time.Minute
	// PollInterval is the interval of End calls to a driver that does not wait.
	PollInterval = 10 * time.Second
	// LastEndTimeout limits the delay of a terminal phase by the driver's answer to its last End. The event itself stays
	// until the driver answers or deregisters.
	LastEndTimeout = 10 * time.Second

	// kubeletInterval is the interval at which an agent that stands down checks whether it can resume.
	kubeletInterval = time.Minute
	// registerTimeout is the time after the start of this process before a claimed event reports a missing driver.
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
	// retryBase and retryCap bound the backoff after retryable errors.
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
