// SPDX-License-Identifier: Apache-2.0

// Package process starts processes that outlive their starter, recognises them
// again later, and stops them.
//
// A process id alone does not name a process: ids are used again. Identity adds
// when the process started, in which boot of the machine; a signal is sent only
// to a process whose identity is the recorded one.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity names one process for ever.
type Identity struct {
	PID int `json:"pid"`
	// Started is the start time in clock ticks since the machine was started.
	Started uint64 `json:"started"`
	// Boot is the id that the kernel gave to that start of the machine.
	Boot string `json:"boot"`
}

var errMalformedStat = errors.New("malformed process status")

// Observe returns the identity of the process that has this id now.
func Observe(pid int) (Identity, error) {
	status, err := readStatus(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	boot, err := bootID()
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{PID: pid, Started: status.started, Boot: boot}, nil
}

// Alive reports whether this very process still runs, and holds what it has opened.
// One that has ended but was not yet collected by its parent counts as gone.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	status, err := readStatus(i.PID)
	if err != nil || status.ended() || status.started != i.Started {
		return false
	}
	boot, err := bootID()
	return err == nil && boot == i.Boot
}

// status is what is needed of /proc/PID/stat.
type status struct {
	state   byte
	threads int
	started uint64
}

// ended tells a process that is gone. Its state is that of its first thread, which has
// often ended when the last one is about to: until then ports are in use and connections
// open.
func (s status) ended() bool { return s.state == 'X' || s.state == 'Z' && s.threads <= 1 }

func readStatus(pid int) (status, error) {
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return status{}, err
	}
	return parseStatus(content)
}

// parseStatus reads a line of /proc/PID/stat: "pid (command) state
// ppid …", with the number of threads in field 20, and the start time in field 22. The
// command may itself contain spaces and brackets, hence the last closing one.
func parseStatus(line []byte) (status, error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return status{}, errMalformedStat
	}
	const firstField, threadsField, startField = 3, 20, 22
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) <= startField-firstField {
		return status{}, errMalformedStat
	}
	started, err := strconv.ParseUint(fields[startField-firstField], 10, 64)
	if err != nil {
		return status{}, fmt.Errorf("%w: start time: %w", errMalformedStat, err)
	}
	threads, err := strconv.Atoi(fields[threadsField-firstField])
	if err != nil {
		return status{}, fmt.Errorf("%w: number of threads: %w", errMalformedStat, err)
	}
	return status{state: fields[0][0], threads: threads, started: started}, nil
}

func bootID() (string, error) {
	content, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}
