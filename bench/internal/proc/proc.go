// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks a second: what Linux counts CPU time in, for programs, on all that Go runs on.
const ticks = 100

// Memory reads a field of /proc/PID/status, in KiB: VmRSS, VmHWM.
func Memory(pid int, field string) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	value := find(string(status), field)
	if value == "" {
		return 0, fmt.Errorf("no %s for process %d", field, pid)
	}
	return strconv.Atoi(strings.Fields(value)[0])
}

// CPU is how many seconds of CPU time a process has used.
func CPU(pid int) (float64, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may have spaces in it.
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("%s has too few fields", path)
	}
	return seconds(fields[user], fields[system])
}

// Machine is how many seconds of CPU time the machine has had, on all cores: busy and
// in all.
func Machine() (busy, all float64, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(first)
	// user nice system idle iowait irq softirq steal
	const idle, waiting, last = 4, 5, 8
	if len(fields) <= last {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", first)
	}
	if all, err = seconds(fields[1 : last+1]...); err != nil {
		return 0, 0, err
	}
	unused, err := seconds(fields[idle], fields[waiting])
	return all - unused, all, err
}

func seconds(counts ...string) (float64, error) {
	var sum int
	for _, count := range counts {
		n, err := strconv.Atoi(count)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return float64(sum) / ticks, nil
}

// Load is the load average of the last minute; empty where there is none.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// Model is the name of the machine's CPU; empty where it has none.
func Model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	return find(string(text), "model name")
}

// find returns the value of a field in lines of the form "field : value".
func find(text, field string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
