// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Traffic is how many bytes a process has read and written so far, by the kernel's count: from and to
// the network, which is nearly all of it for a process that keeps nothing on disk, and files.
func Traffic(pid int) (read, written int64, err error) {
	path := fmt.Sprintf("/proc/%d/io", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	if read, err = strconv.ParseInt(find(string(text), "rchar"), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("%s: rchar: %w", path, err)
	}
	if written, err = strconv.ParseInt(find(string(text), "wchar"), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("%s: wchar: %w", path, err)
	}
	return read, written, nil
}

// Connections is how many TCP connections over IPv4 a process has open.
func Connections(pid int) (int, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	own := map[string]bool{}
	for _, file := range files {
		target, err := os.Readlink(dir + "/" + file.Name())
		inode, isSocket := strings.CutPrefix(target, "socket:[")
		if err == nil && isSocket { // else it has been closed since
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return 0, err
	}
	count := 0
	for line := range strings.Lines(string(table)) {
		// sl local remote st tx:rx tr:when retransmits uid timeout inode
		const state, inode = 3, 9
		const established = "01"
		if fields := strings.Fields(line); len(fields) > inode && fields[state] == established && own[fields[inode]] {
			count++
		}
	}
	return count, nil
}

// MemoryTotal is how much memory the machine has, in MiB; 0 where that is not known.
func MemoryTotal() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	kib, err := strconv.Atoi(strings.TrimSuffix(find(string(text), "MemTotal"), " kB"))
	if err != nil {
		return 0
	}
	return kib / 1024
}
