// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

func clientOf(t *testing.T, limiter flowcontrol.RateLimiter, serve http.HandlerFunc) corev1client.CoreV1Interface {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	client, err := corev1client.NewForConfigAndClient(&rest.Config{Host: server.URL, RateLimiter: limiter}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// client-go by itself repeats a request up to ten times where the answer names a time to wait, and sleeps between.
func TestAnEvictionIsSentOnceWhateverTheServerSuggests(t *testing.T) {
	var requests atomic.Int32
	client := clientOf(t, nil, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if want := "/api/v1/namespaces/default/pods/a/eviction"; r.URL.Path != want || r.Method != http.MethodPost {
			t.Errorf("got %s %s", r.Method, r.URL.Path)
		}
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		if err := json.NewEncoder(w).Encode(apierrors.NewTooManyRequests("slow down", 1).ErrStatus); err != nil {
			t.Error(err)
		}
	})
	err := newEvictor(client, time.Minute).evict(t.Context(), t.Context(), newPod("a"), nil)
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v", err)
	}
	if got := interpret(err, newPod("a"), nil); got.outcome != overloaded || got.retryAfter != time.Second {
		t.Errorf("got %+v", got)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("sent %d requests", n)
	}
}

// The wait for the client's own rate limit must not outlast the drain and then send.
func TestAnEvictionThatWaitsForTheRateLimitIsNotSentAfterTheEnd(t *testing.T) {
	limiter := flowcontrol.NewTokenBucketRateLimiter(0.001, 1)
	limiter.Accept() // the only token
	client := clientOf(t, limiter, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	live, end := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- newEvictor(client, time.Minute).evict(live, t.Context(), newPod("a"), nil) }()
	end()
	if err := <-result; !errors.Is(err, errNotSent) {
		t.Errorf("got %v", err)
	}
}

// Else it would be asked again without a pause.
func TestALimiterThatLetsNothingThroughPutsTheBrakeOn(t *testing.T) {
	e := evictor{throttle: func(context.Context) error { return errors.New("burst is 0") }}
	err := e.evict(t.Context(), t.Context(), newPod("a"), nil)
	if got := interpret(err, newPod("a"), nil); got.outcome != unavailable || got.refusal == nil {
		t.Errorf("%v is %+v", err, got)
	}
}

func TestAnEvictionThatIsNotAnsweredTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := evictor{
			throttle: func(context.Context) error { return nil },
			post:     func(ctx context.Context, _ *policyv1.Eviction) error { <-ctx.Done(); return ctx.Err() },
			timeout:  30 * time.Second,
		}
		begin := time.Now()
		err := e.evict(t.Context(), t.Context(), newPod("a"), nil)
		if took := time.Since(begin); took != 30*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

func TestAnEvictionThatIsNeverAnsweredIsCutOffSomeTimeAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Drainer{config: Config{EvictionTimeout: time.Hour}, queue: newBudgetQueue(clock.RealClock{})}
		d.config.Clock = clock.RealClock{}
		d.evictor = evictor{
			throttle: func(context.Context) error { return nil },
			post:     func(ctx context.Context, _ *policyv1.Eviction) error { <-ctx.Done(); return ctx.Err() },
			timeout:  time.Hour,
		}
		r := newRun(d, Request{NodeName: "w1"})
		wire, cut := context.WithCancel(t.Context())
		r.launch(t.Context(), wire, send{pod: newPod("a")}, &r.trials)
		begin := time.Now()
		r.settle(cut)
		if took := time.Since(begin); took != settleFor || r.inFlight != 0 {
			t.Errorf("settled after %s with %d in flight", took, r.inFlight)
		}
	})
}
