// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kinds of mishaps.
const (
	internalError = "500"
	unavailable   = "503"
	busy          = "429"             // of a server that has too much to do, not of a budget
	busyRetry     = "429 with a time" // which clients heed by themselves
	lostRequest   = "request lost"    // the server has not seen it
	lostReply     = "answer lost"     // the server has done it
)

// Kinds are all kinds of mishaps.
var Kinds = []string{internalError, unavailable, busy, busyRetry, lostRequest, lostReply}

// lostAnswer is the key of requests whose answer the link loses.
type lostAnswer struct{}

var errLost = errors.New("the answer is lost")

// mishaps has something go wrong with some of the requests.
func (l *Link) mishaps(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch l.draw() {
		case internalError:
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
		case unavailable:
			refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		case busyRetry:
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		case busy:
			refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		case lostRequest:
			panic(http.ErrAbortHandler)
		case lostReply:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lostAnswer{}, true)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// draw returns the mishap of a request, or an empty kind.
func (l *Link) draw() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.per100 == 0 {
		return ""
	}
	l.asked++
	if l.rng.IntN(100) >= l.per100 {
		return ""
	}
	what := Kinds[l.rng.IntN(len(Kinds))]
	l.seen[what]++
	return what
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(statusOf(code, reason)) // the client may have closed the connection
}

func statusOf(code int, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "the test has it fail",
	}
}
