// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// Process is the use of resources by a process up to a moment, and its memory at that moment.
type Process struct {
	CPUSeconds      float64
	RSSKiB, PeakKiB int
}

// ReadProcess reads it from /proc.
func ReadProcess(pid int) (p Process, err error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return p, fmt.Errorf("read process %d: %w", pid, err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return p, fmt.Errorf("read process %d: %w", pid, err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return p, fmt.Errorf("read process %d: %w", pid, err)
	}
	return Process{stat.CPUTime(), int(status.VmRSS / 1024), int(status.VmHWM / 1024)}, nil
}

// ResetPeak makes the kernel count the peak of a process's memory again.
func ResetPeak(pid int) error {
	const peak = "5" // proc(5), /proc/pid/clear_refs
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte(peak), 0)
}

// traffic returns the number of bytes that a process has read and written so far, files included. For a process
// without data on disk, nearly all bytes are of the network.
func traffic(pid int) (read, written int64, err error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, err
	}
	counts, err := proc.IO()
	return int64(counts.RChar), int64(counts.WChar), err
}

// connections returns how many TCP connections over IPv4 a process has open.
func connections(pid int) (int, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	files, err := proc.FileDescriptorTargets()
	if err != nil {
		return 0, err
	}
	own := map[string]bool{}
	for _, target := range files {
		own[target] = true
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	table, err := fs.NetTCP() //nolint:staticcheck // /proc suffices, and netlink would be a second way
	if err != nil {
		return 0, err
	}
	count := 0
	for _, line := range table {
		const established = 1
		if line.St == established && own[fmt.Sprintf("socket:[%d]", line.Inode)] {
			count++
		}
	}
	return count, nil
}

// machine returns how many seconds of CPU time all cores have had, and in how many of them they were busy.
func machine() (busy, all float64, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, 0, err
	}
	stat, err := fs.Stat()
	if err != nil {
		return 0, 0, err
	}
	t := stat.CPUTotal
	busy = t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal
	return busy, busy + t.Idle + t.Iowait, nil
}

// Machine describes the machine. It leaves out values that cannot be read.
type Machine struct {
	CPU       string
	MemoryMiB int
	// Load is the load average of the last minute.
	Load string
}

// ReadMachine reads it from /proc.
func ReadMachine() (m Machine) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}
	if cores, err := fs.CPUInfo(); err == nil && len(cores) > 0 {
		m.CPU = strings.TrimSpace(cores[0].ModelName)
	}
	if memory, err := fs.Meminfo(); err == nil && memory.MemTotal != nil {
		m.MemoryMiB = int(*memory.MemTotal / 1024)
	}
	if load, err := fs.LoadAvg(); err == nil {
		m.Load = fmt.Sprintf("%.2f", load.Load1)
	}
	return m
}
