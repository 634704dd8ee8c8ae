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

// reach knows whether the API server answers, by the requests of the process.
type reach struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since time.Time // the last change; zero: it has always answered
	away  string    // why not; empty: it answers
}

// newReach returns what no request has passed yet: the server is taken to answer.
func newReach(clock clock.PassiveClock) *reach { return &reach{clock: clock} }

// roundTripper looks at the requests that next makes.
func (r *reach) roundTripper(next http.RoundTripper) http.RoundTripper { return &tripper{r, next} }

// check returns since when the server does not answer, and why.
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

// say notes whether the server answers; empty: it does.
func (r *reach) say(ctx context.Context, away string) {
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

// verdict is what a request says about the server.
type verdict int

const (
	nothing verdict = iota
	answers
	isAway
)

// judge says what a request that has ended means. Of those that fail, only reads count:
// they are made again until they succeed, by watches if by nobody else, so that no
// failure is the last thing that is heard.
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

// RoundTrip makes the request, and notes how it went.
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
		t.reach.say(request.Context(), "")
	case isAway:
		t.reach.say(request.Context(), reason)
	case nothing:
	}
	return response, err
}

// WrappedRoundTripper is for client-go, which looks for the innermost.
func (t *tripper) WrappedRoundTripper() http.RoundTripper { return t.next }
