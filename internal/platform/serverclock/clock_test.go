// SPDX-License-Identifier: Apache-2.0

package serverclock

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/ktesting"
	clocktesting "k8s.io/utils/clock/testing"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// answers is a server that says what time it is, after some time of the machine.
type answers struct {
	machine *clocktesting.FakeClock
	date    string
	takes   time.Duration
	err     error
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	a.machine.SetTime(a.machine.Now().Add(a.takes))
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{Header: http.Header{"Date": []string{a.date}}, Body: http.NoBody}, nil
}

// answer is the Date of a server at a time after the epoch.
func answer(after time.Duration) string { return epoch.Add(after).UTC().Format(http.TimeFormat) }

func TestNow(t *testing.T) {
	t.Parallel()
	none := []answers{}
	for name, tc := range map[string]struct {
		answers []answers
		want    time.Duration // after the epoch
	}{
		"before any answer":                        {none, 0},
		"the server agrees":                        {[]answers{{date: answer(0)}}, 0},
		"it is a little ahead":                     {[]answers{{date: answer(5 * time.Second)}}, 0},
		"it is a little behind":                    {[]answers{{date: answer(-6 * time.Second)}}, 0},
		"it is ahead":                              {[]answers{{date: answer(49 * time.Second)}}, 49 * time.Second},
		"it is behind, by whole seconds at least":  {[]answers{{date: answer(-49 * time.Second)}}, -48 * time.Second},
		"the answer took long":                     {[]answers{{date: answer(0), takes: time.Minute}}, time.Minute},
		"it took long, and the server is ahead":    {[]answers{{date: answer(2 * time.Minute), takes: time.Minute}}, 2 * time.Minute},
		"the clock was set back meanwhile":         {[]answers{{date: answer(0), takes: -time.Minute}}, -time.Minute},
		"an answer without a time":                 {[]answers{{}}, 0},
		"an answer with something else":            {[]answers{{date: "yesterday"}}, 0},
		"no answer":                                {[]answers{{err: errors.New("cut off")}}, 0},
		"it agrees again":                          {[]answers{{date: answer(49 * time.Second)}, {date: answer(0)}}, 0},
		"answers that took longer change nothing":  {[]answers{{date: answer(49 * time.Second)}, {date: answer(48 * time.Second)}}, 49 * time.Second},
		"an answer without a time changes nothing": {[]answers{{date: answer(49 * time.Second)}, {}}, 49 * time.Second},
		"it is off by something else":              {[]answers{{date: answer(49 * time.Second)}, {date: answer(-time.Hour)}}, time.Second - time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logger, _ := ktesting.NewTestContext(t)
			machine := clocktesting.NewFakeClock(epoch)
			c := New(machine, logger)
			for _, a := range tc.answers {
				a.machine = machine
				asks(t, c, &a)
			}
			if got := c.Now().Sub(epoch); got != tc.want {
				t.Errorf("it is %s after the epoch; want %s", got, tc.want)
			}
			if got := c.Since(epoch); got != tc.want {
				t.Errorf("the epoch is %s ago; want %s", got, tc.want)
			}
		})
	}
}

// asks makes a request as a client does that was made of the configuration.
func asks(t *testing.T, c *Clock, server *answers) {
	t.Helper()
	config := &rest.Config{Host: "https://server", Transport: server}
	client, err := rest.HTTPClientFor(c.Seen(config))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://server/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if (err != nil) != (server.err != nil) {
		t.Fatalf("the answer was %v; want %v", err, server.err)
	}
	if err == nil {
		response.Body.Close()
	}
}

// What it says has no measure of the machine in it, which goes on as if nothing was set.
func TestNowHasNoMonotonicPart(t *testing.T) {
	t.Parallel()
	logger, _ := ktesting.NewTestContext(t)
	c := New(clocktesting.NewFakeClock(time.Now()), logger)
	if now := c.Now(); now != now.Round(0) {
		t.Errorf("%v has one", now)
	}
}
