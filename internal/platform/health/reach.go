// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// reach knows from the requests of the process whether the API server answers. Before the first request, it answers.
type reach struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since time.Time // the last change; zero without any
	away  string    // the problem; empty: the server answers
}

// check returns the beginning of the outage, and the problem.
func (r *reach) check() error {
	since, away := r.state()
	if away == "" {
		return nil
	}
	return fmt.Errorf("the API server has not answered since %s: %s", since.UTC().Format(time.RFC3339), away)
}

func (r *reach) state() (since time.Time, away string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since, r.away
}

// record records whether the server answers, or the problem.
func (r *reach) record(ctx context.Context, away string) {
	r.mu.Lock()
	changed := (away == "") != (r.away == "")
	r.away = away
	if changed {
		r.since = r.clock.Now()
	}
	r.mu.Unlock()
	switch logger := klog.FromContext(ctx); {
	case changed && away != "":
		logger.Info("The API server does not answer; not ready until it does", "reason", away)
	case changed:
		logger.Info("The API server answers again")
	}
}

// verdict is the conclusion from a request.
type verdict int

const (
	nothing verdict = iota
	answers
	isAway
)

// judge returns the conclusion from a finished request. Among failures, only reads count: clients repeat them until
// they succeed, at least in watches, so that a success follows each outage.
func judge(method string, status int, err, ended error) verdict {
	switch {
	case err == nil && status < http.StatusInternalServerError:
		return answers
	case method != http.MethodGet, errors.Is(ended, context.Canceled):
		return nothing
	default:
		return isAway
	}
}

type tripper struct {
	reach *reach
	next  http.RoundTripper
}

// RoundTrip makes the request, and records its result.
func (t *tripper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	var status int
	var reason string
	if err != nil {
		reason = err.Error()
	} else {
		status, reason = response.StatusCode, response.Status
	}
	switch judge(request.Method, status, err, request.Context().Err()) {
	case answers:
		t.reach.record(request.Context(), "")
	case isAway:
		t.reach.record(request.Context(), reason)
	case nothing:
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the innermost round tripper.
func (t *tripper) WrappedRoundTripper() http.RoundTripper { return t.next }
