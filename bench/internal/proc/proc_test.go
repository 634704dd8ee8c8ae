// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"io"
	"net"
	"os"
	"testing"
)

func TestOwnProcess(t *testing.T) {
	if kib, err := Memory(os.Getpid(), "VmHWM"); err != nil || kib <= 0 {
		t.Errorf("memory is %d KiB, %v", kib, err)
	}
	if _, err := Memory(os.Getpid(), "VmNothing"); err == nil {
		t.Error("a field that is not there was found")
	}
	if seconds, err := CPU(os.Getpid()); err != nil || seconds < 0 {
		t.Errorf("CPU time is %f s, %v", seconds, err)
	}
	if busy, all, err := Machine(); err != nil || busy <= 0 || all < busy {
		t.Errorf("the machine was busy for %f s of %f s, %v", busy, all, err)
	}
}

func TestOwnTraffic(t *testing.T) {
	read, written, err := Traffic(os.Getpid())
	if err != nil || read <= 0 {
		t.Fatalf("%d bytes read, %d written, %v", read, written, err)
	}
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before, err := Connections(os.Getpid())
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
	readNow, writtenNow, err := Traffic(os.Getpid())
	if err != nil || readNow-read < size || writtenNow-written < size {
		t.Errorf("%d bytes read, %d written, %v; want %d at least", readNow-read, writtenNow-written, err, size)
	}
	if now, err := Connections(os.Getpid()); err != nil || now != before+2 { // both ends
		t.Errorf("%d connections, %v; want %d", now, err, before+2)
	}
	if MemoryTotal() <= 0 {
		t.Error("the machine has no memory")
	}
}
