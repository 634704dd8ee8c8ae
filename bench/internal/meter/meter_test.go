// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const metrics = `# HELP apiserver_watch_events_total Number of events sent in watch clients
# TYPE apiserver_watch_events_total counter
apiserver_watch_events_total{group="",resource="pods",version="v1"} 12
apiserver_watch_events_total{group="lifecycle.k8s.io",resource="lifecycleevents",version="v1alpha1"} 3
apiserver_watch_events_sizes_sum{group="",resource="pods",version="v1"} 1.5e+06
apiserver_watch_events_sizes_count{group="",resource="pods",version="v1"} 12
apiserver_longrunning_requests{resource="pods",subresource="",verb="WATCH"} 4
apiserver_longrunning_requests{resource="pods",subresource="log",verb="CONNECT"} 1
apiserver_longrunning_requests{resource="nodes",subresource="",verb="WATCH"} 0
etcd_requests_total{group="",operation="create",resource="pods"} 5
etcd_requests_total{group="",operation="update",resource="pods"} 6
etcd_requests_total{group="",operation="get",resource="pods"} 100
go_gc_heap_live_bytes 2.097152e+06
go_memstats_stack_inuse_bytes 1024
go_goroutines 77
`

func TestTheServersMetrics(t *testing.T) {
	got, err := server(metrics)
	if err != nil {
		t.Fatal(err)
	}
	want := Server{
		WatchEvents: map[string]float64{"pods": 12, "lifecycleevents": 3}, WatchBytes: map[string]float64{"pods": 1.5e6},
		Writes: 11, Watches: map[string]float64{"pods": 4}, LiveKiB: 2049, Goroutines: 77,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAMetricThatIsGoneIsAnError(t *testing.T) {
	if _, err := server("go_goroutines 77\n"); err == nil {
		t.Error("an API server without watches was believed")
	}
}

func TestLinesOfMetrics(t *testing.T) {
	for name, tc := range map[string]struct {
		rest string
		want sample
		bad  bool
	}{
		"no labels":                    {rest: " 3", want: sample{map[string]string{}, 3}},
		"a time behind the value":      {rest: "{} 3 1700000000", want: sample{map[string]string{}, 3}},
		"quotes and commas in a label": {rest: `{a="x,\"y\"}",b=""} 1e3`, want: sample{map[string]string{"a": `x,"y"}`, "b": ""}, 1000}},
		"no value":                     {rest: `{a="b"}`, bad: true},
		"a label without a value":      {rest: `{a} 1`, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(tc.rest)
			if tc.bad != (err != nil) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(sample{})); !tc.bad && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatWasUsedBetweenTwoReadings(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := Reading{
		At: at, CPUSeconds: 1, RSSKiB: 10, Received: 100, Sent: 10, Connections: 1,
		Components: map[string]Component{"etcd": {CPUSeconds: 2, RSSKiB: 5}},
		Server:     Server{WatchEvents: map[string]float64{"pods": 1, "nodes": 2}, Writes: 3},
	}
	after := Reading{
		At: at.Add(2 * time.Second), CPUSeconds: 1.5, RSSKiB: 12, Received: 150, Sent: 30, Connections: 2,
		Components: map[string]Component{"etcd": {CPUSeconds: 6, RSSKiB: 7}},
		Server:     Server{WatchEvents: map[string]float64{"pods": 4, "nodes": 2}, Writes: 8, Goroutines: 9, LiveKiB: 11},
	}
	want := Used{
		Seconds: 2, CPUSeconds: .5, RSSKiB: 12, Received: 50, Sent: 20, Connections: 2,
		ComponentCPUSeconds: map[string]float64{"etcd": 4}, ComponentRSSKiB: map[string]int{"etcd": 7},
		WatchEvents: map[string]float64{"pods": 3}, WatchBytes: map[string]float64{}, Writes: 5, ServerGoroutines: 9, ServerLiveKiB: 11,
	}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
