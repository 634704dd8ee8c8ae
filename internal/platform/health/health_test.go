// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestOnlyWhatARestartWouldCureEndsAProcess(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for name, tc := range map[string]struct {
		pass, server time.Time
		away         string
		want         bool
	}{
		"nothing goes on":                                        {},
		"a pass has just begun":                                  {pass: ago(time.Second)},
		"a pass takes what is allowed":                           {pass: ago(stuckAfter)},
		"a pass hangs":                                           {pass: ago(stuckAfter + 1), want: true},
		"a pass hangs, and the server is away":                   {pass: ago(time.Hour), server: ago(time.Minute), away: "EOF"},
		"a pass hangs, and the server came back a moment ago":    {pass: ago(time.Hour), server: ago(time.Minute)},
		"a pass hangs since before the server came back, by far": {pass: ago(time.Hour), server: ago(stuckAfter + 1), want: true},
		"a pass hangs that began after the server came back":     {pass: ago(stuckAfter + 1), server: ago(time.Hour), want: true},
		"nothing goes on, and the server is away":                {server: ago(time.Hour), away: "EOF"},
	} {
		if err := stuck("n", tc.pass, tc.server, tc.away, noon); (err != nil) != tc.want {
			t.Errorf("%s: %v, want an error: %v", name, err, tc.want)
		}
	}
}

func TestWhatARequestSaysAboutTheServer(t *testing.T) {
	refused := errors.New("connection refused")
	for name, tc := range map[string]struct {
		method     string
		status     int
		err, ended error
		want       verdict
	}{
		"it is answered":                       {method: "GET", status: 200, want: answers},
		"it is not found":                      {method: "GET", status: 404, want: answers},
		"it is forbidden":                      {method: "PATCH", status: 403, want: answers},
		"there are too many":                   {method: "GET", status: 429, want: answers},
		"nobody is there":                      {method: "GET", err: refused, want: isAway},
		"it takes too long":                    {method: "GET", err: refused, ended: context.DeadlineExceeded, want: isAway},
		"the server is not ready":              {method: "GET", status: 503, want: isAway},
		"who made it does not want it":         {method: "GET", err: refused, ended: context.Canceled, want: nothing},
		"a write, which is maybe not repeated": {method: "POST", err: refused, want: nothing},
		"a write that another server failed":   {method: "POST", status: 504, want: nothing},
	} {
		if got := judge(tc.method, tc.status, tc.err, tc.ended); got != tc.want {
			t.Errorf("%s: verdict %d, want %d", name, got, tc.want)
		}
	}
}

// checks are those that fail.
func (p *Process) failing() string {
	var names []string
	for _, c := range p.checks {
		if c.Check() != nil {
			names = append(names, c.Probe+"/"+c.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestAServerThatIsAwayMakesAProcessUnreadyAndNotDead(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	clock := clocktesting.NewFakePassiveClock(noon)
	p := New(clock)
	client, err := rest.HTTPClientFor(p.Seen(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	request := func() {
		if response, err := client.Get(server.URL); err == nil {
			response.Body.Close()
		}
	}
	expect := func(when, want string) {
		t.Helper()
		if got := p.failing(); got != want {
			t.Errorf("%s: %q fails, want %q", when, got, want)
		}
	}
	expect("before its caches are filled", "readiness/caches")
	if err := (*filled)(p).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	request()
	expect("when all is well", "")

	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	loop := p.Loop(reconcile.TypedFunc[string](func(context.Context, string) (reconcile.Result, error) {
		close(entered)
		<-leave
		return reconcile.Result{}, nil
	}))
	go func() {
		defer close(left)
		_, _ = loop.Reconcile(t.Context(), "n")
	}()
	<-entered
	status = http.StatusServiceUnavailable
	request()
	clock.SetTime(noon.Add(time.Hour))
	expect("in an outage, while a pass waits", "readiness/api-server")
	if err := p.reach.check(); err == nil || !strings.Contains(err.Error(), "2026-01-02T12:00:00Z: 503") {
		t.Errorf("it says %v, want since when, and why", err)
	}
	status = http.StatusOK
	request()
	expect("when the server is back", "")
	clock.SetTime(noon.Add(time.Hour + stuckAfter + time.Second))
	expect("when the pass still does not end", "liveness/loop")
	close(leave)
	<-left
	expect("when it has ended", "")
}

// A loop that is no reconciler counts, too, and is named.
func TestAPassOfAnotherLoopThatHangs(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	p := New(clock)
	if err := (*filled)(p).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, other := p.Pass("shutdowns"), p.Pass("static pods")
	other()
	clock.SetTime(noon.Add(stuckAfter + time.Second))
	if err := p.loop(); err == nil || !strings.Contains(err.Error(), "the loop of shutdowns hangs") {
		t.Errorf("it says %v", err)
	}
	ended()
	if got := p.failing(); got != "" {
		t.Errorf("when it has ended, %q fails", got)
	}
}

// A process that has no loop at all, or none yet, is alive: where nobody answers at /healthz, a
// kubelet kills it.
func TestEachProcessAnswersBothProbes(t *testing.T) {
	address := freeAddress(t)
	m, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, manager.Options{
		HealthProbeBindAddress: address, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := New(clocktesting.NewFakePassiveClock(noon)).AddTo(m, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer end()
	if code, _ := get(t, address, "/healthz"); code != http.StatusOK {
		t.Errorf("the liveness is %d", code)
	}
	if code, _ := get(t, address, "/readyz"); code == http.StatusNotFound {
		t.Errorf("the readiness is %d", code)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func get(t *testing.T, address, path string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestAPassThatPanicsGoesOnNoLonger(t *testing.T) {
	p := New(clocktesting.NewFakePassiveClock(noon))
	func() {
		defer func() { _ = recover() }()
		_, _ = p.Loop(reconcile.TypedFunc[string](func(context.Context, string) (reconcile.Result, error) {
			panic("for a test")
		})).Reconcile(t.Context(), "n")
	}()
	if of, since := p.longest(); !since.IsZero() {
		t.Errorf("a pass of %s goes on since %s", of, since)
	}
}
