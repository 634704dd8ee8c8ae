// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	var got Used
	if err := got.readServer(strings.NewReader(metrics)); err != nil {
		t.Fatal(err)
	}
	want := Used{
		WatchEvents: map[string]float64{"pods": 12, "lifecycleevents": 3}, WatchBytes: map[string]float64{"pods": 1.5e6},
		Writes: 11, Watches: map[string]float64{"pods": 4}, ServerLiveKiB: 2049, ServerGoroutines: 77,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Used{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAMetricThatIsGoneIsAnError(t *testing.T) {
	if err := new(Used).readServer(strings.NewReader("go_goroutines 77\n")); err == nil {
		t.Error("an API server without watches was believed")
	}
}

func TestWhatWasUsedBetweenTwoReadings(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := Used{
		at: at, CPUSeconds: 1, RSSKiB: 10, Received: 100, Sent: 10, Connections: 1,
		ComponentCPUSeconds: map[string]float64{"etcd": 2}, ComponentRSSKiB: map[string]int{"etcd": 5},
		WatchEvents: map[string]float64{"pods": 1}, Writes: 3,
	}
	after := Used{
		at: at.Add(2 * time.Second), CPUSeconds: 1.5, RSSKiB: 12, machineBusy: 3, machineAll: 4, Received: 150, Sent: 30, Connections: 2,
		ComponentCPUSeconds: map[string]float64{"etcd": 6}, ComponentRSSKiB: map[string]int{"etcd": 7},
		WatchEvents: map[string]float64{"pods": 4, "nodes": 2}, Writes: 8, ServerGoroutines: 9, ServerLiveKiB: 11,
	}
	want := Used{
		Seconds: 2, MachineBusy: .75, CPUSeconds: .5, RSSKiB: 12, Received: 50, Sent: 20, Connections: 2,
		ComponentCPUSeconds: map[string]float64{"etcd": 4}, ComponentRSSKiB: map[string]int{"etcd": 7},
		WatchEvents: map[string]float64{"pods": 3, "nodes": 2}, WatchBytes: map[string]float64{}, Writes: 5, ServerGoroutines: 9, ServerLiveKiB: 11,
	}
	if diff := cmp.Diff(want, after.Since(before), cmpopts.IgnoreUnexported(Used{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestThePeakIsCountedAnew: memory that was given back before is no peak of what comes after.
func TestThePeakIsCountedAnew(t *testing.T) {
	const size = 64 << 20
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += 4096 {
		memory[i] = 1
	}
	before, err := ReadProcess(os.Getpid())
	if err := errors.Join(err, syscall.Munmap(memory), ResetPeak(os.Getpid())); err != nil {
		t.Fatal(err)
	}
	if after, err := ReadProcess(os.Getpid()); err != nil || after.PeakKiB > before.PeakKiB-size/2048 {
		t.Errorf("the peak was %d KiB, and is %d after %d KiB were given back; %v", before.PeakKiB, after.PeakKiB, size/1024, err)
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
