// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const metrics = `# HELP apiserver_watch_events_total Number of events sent in watch clients
# TYPE apiserver_watch_events_total counter
apiserver_watch_events_total{group="",resource="pods",version="v1"} 12
apiserver_watch_events_total{group="lifecycle.k8s.io",resource="lifecycleevents",version="v1alpha1"} 3
# TYPE apiserver_watch_events_sizes histogram
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
	got, err := server(strings.NewReader(metrics))
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
	if _, err := server(strings.NewReader("go_goroutines 77\n")); err == nil {
		t.Error("an API server without watches was believed")
	}
}

func TestWhatWasUsedBetweenTwoReadings(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := Reading{
		At: at, Process: Process{CPUSeconds: 1, RSSKiB: 10}, Received: 100, Sent: 10, Connections: 1,
		Components: map[string]Process{"etcd": {CPUSeconds: 2, RSSKiB: 5}},
		Server:     Server{WatchEvents: map[string]float64{"pods": 1, "nodes": 2}, Writes: 3},
	}
	after := Reading{
		At: at.Add(2 * time.Second), Process: Process{CPUSeconds: 1.5, RSSKiB: 12}, MachineBusy: 3, MachineAll: 4, Received: 150, Sent: 30, Connections: 2,
		Components: map[string]Process{"etcd": {CPUSeconds: 6, RSSKiB: 7}},
		Server:     Server{WatchEvents: map[string]float64{"pods": 4, "nodes": 2}, Writes: 8, Goroutines: 9, LiveKiB: 11},
	}
	want := Used{
		Seconds: 2, MachineBusy: .75, CPUSeconds: .5, RSSKiB: 12, Received: 50, Sent: 20, Connections: 2,
		ComponentCPUSeconds: map[string]float64{"etcd": 4}, ComponentRSSKiB: map[string]int{"etcd": 7},
		WatchEvents: map[string]float64{"pods": 3}, WatchBytes: map[string]float64{}, Writes: 5, ServerGoroutines: 9, ServerLiveKiB: 11,
	}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOwnProcess(t *testing.T) {
	if p, err := ReadProcess(os.Getpid()); err != nil || p.RSSKiB <= 0 || p.PeakKiB < p.RSSKiB || p.CPUSeconds < 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if busy, all, err := machine(); err != nil || busy <= 0 || all < busy {
		t.Errorf("the machine was busy for %f s of %f s, %v", busy, all, err)
	}
	if m := ReadMachine(); m.MemoryMiB <= 0 || m.Load == "" {
		t.Errorf("the machine is %+v", m)
	}
}

func TestOwnTraffic(t *testing.T) {
	read, written, err := traffic(os.Getpid())
	if err != nil || read <= 0 {
		t.Fatalf("%d bytes read, %d written, %v", read, written, err)
	}
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before, err := connections(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp4", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	const size = 1 << 20
	go func() { _, _ = client.Write(make([]byte, size)) }()
	if _, err := io.ReadFull(got, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	readNow, writtenNow, err := traffic(os.Getpid())
	if err != nil || readNow-read < size || writtenNow-written < size {
		t.Errorf("%d bytes read, %d written, %v; want %d at least", readNow-read, writtenNow-written, err, size)
	}
	if now, err := connections(os.Getpid()); err != nil || now != before+2 { // both ends
		t.Errorf("%d connections, %v; want %d", now, err, before+2)
	}
}
