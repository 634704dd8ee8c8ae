// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(millis int) time.Time { return zero.Add(time.Duration(millis) * time.Millisecond) }

// asked is a request that the API server took 100 ms for.
func asked(user string, millis int, verb, resource, name string, code int) auditlog.Request {
	resource, subresource, _ := strings.Cut(resource, "/")
	return auditlog.Request{
		User: user, Began: at(millis), Ended: at(millis + 100), Verb: verb, Code: code,
		Resource: resource, Subresource: subresource, Namespace: "bench", Name: name,
	}
}

func TestMeasure(t *testing.T) {
	discovery := asked("me", 7000, "get", "", "", 200)
	discovery.Namespace, discovery.URI = "", "/api/v1?timeout=32s"
	requests := []auditlog.Request{
		asked("me", -50, "get", "nodes", "worker-1", 200), // before the drain
		asked("me", 0, "patch", "nodes", "worker-1", 200),
		asked("me", 500, "create", "pods/eviction", "p", 201),
		asked("me", 800, "create", "pods/eviction", "q", 429),
		asked("someone", 4000, "create", "pods/eviction", "q", 201), // not ours
		asked("me", 5900, "create", "pods/eviction", "q", 201),
		asked("me", 6100, "create", "events", "", 201),
		discovery,
		asked("me", 7100, "watch", "pods", "", 200),
		asked("me", 11000, "update", "lifecycleevents/status", "drain", 200), // after the end, and ours
		asked("me", 20000, "get", "nodes", "worker-1", 200),                  // the return
	}
	got := measure(requests, drained{
		sent:  func(r auditlog.Request) bool { return r.User == "me" },
		began: at(0), ended: at(10000), over: at(12000),
	})
	want := Run{
		Seconds:   10,
		Evictions: Evictions{Sent: 3, Accepted: 2, Refused: 1},
		Total:     8, Others: 3, Later: 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v is %v; want %v", c.of, got, c.want)
		}
	}
}
