// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

const cgroupMount = "/sys/fs/cgroup"

// neededControllers are those without which a kubelet does not start.
var neededControllers = []string{"cpu", "cpuset", "memory", "pids"}

// hierarchies are the directories of which each has a tree of cgroups: one with
// version 2, one for each controller with version 1.
func hierarchies() []string {
	if isUnified() {
		return []string{cgroupMount}
	}
	entries, err := os.ReadDir(cgroupMount)
	if err != nil {
		return nil
	}
	var found []string
	for _, entry := range entries {
		path := filepath.Join(cgroupMount, entry.Name())
		// Not the links that some systems have: cpu to cpu,cpuacct.
		if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err == nil && entry.IsDir() {
			found = append(found, path)
		}
	}
	return found
}

func isUnified() bool {
	_, err := os.Stat(filepath.Join(cgroupMount, "cgroup.controllers"))
	return err == nil
}

func checkCgroups() error {
	var there []string
	if isUnified() {
		content, err := os.ReadFile(filepath.Join(cgroupMount, "cgroup.controllers"))
		if err != nil {
			return fmt.Errorf("read which cgroup controllers there are: %w", err)
		}
		there = strings.Fields(string(content))
	} else {
		for _, path := range hierarchies() {
			there = append(there, strings.Split(filepath.Base(path), ",")...)
		}
	}
	var absent []string
	for _, needed := range neededControllers {
		if !slices.Contains(there, needed) {
			absent = append(absent, needed)
		}
	}
	if len(absent) > 0 {
		return fmt.Errorf("%s has no cgroups of %s", cgroupMount, strings.Join(absent, ", "))
	}
	return nil
}

// makeCgroup makes the cgroup under which the kubelet puts all of its pods, so that
// they are nobody else's.
func (n Node) makeCgroup() error {
	for _, hierarchy := range hierarchies() {
		if isUnified() {
			if err := delegate(hierarchy); err != nil {
				return err
			}
		}
		path := filepath.Join(hierarchy, n.Recorded.Cgroup)
		if err := os.Mkdir(path, privateDir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a cgroup for the pods: %w", err)
		}
		if isUnified() {
			if err := delegate(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// delegate lets the cgroups below use all controllers (version 2).
func delegate(path string) error {
	for _, controller := range neededControllers {
		err := os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+controller), 0)
		if err != nil {
			return fmt.Errorf("give the pods' cgroups the controller %s: %w", controller, err)
		}
	}
	return nil
}

// killContainers ends every process in the node's cgroups.
func (n Node) killContainers(ctx context.Context) error {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		running := n.containerProcesses()
		if len(running) == 0 {
			return nil
		}
		for _, found := range running {
			if err := process.Kill(found); err != nil {
				return fmt.Errorf("end the containers of node %s: %w", n.Name, err)
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("end the containers of node %s: %w", n.Name, ctx.Err())
		}
		// Once more: one of them may have started another meanwhile.
	}
}

func (n Node) containerProcesses() []process.Identity {
	var found []process.Identity
	for _, dir := range n.cgroups() {
		content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue // it has just gone
		}
		for field := range strings.FieldsSeq(string(content)) {
			pid, err := strconv.Atoi(field)
			if err != nil || pid <= 0 || pid == os.Getpid() {
				continue
			}
			if identity, err := process.Observe(pid); err == nil && identity.Alive() {
				found = append(found, identity)
			}
		}
	}
	return found
}

// cgroups lists those of the node in all hierarchies, inner ones first.
func (n Node) cgroups() []string {
	var found []string
	for _, hierarchy := range hierarchies() {
		_ = filepath.WalkDir(filepath.Join(hierarchy, n.Recorded.Cgroup), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil // what is gone needs no look
		})
	}
	slices.Reverse(found)
	return found
}

func (n Node) removeCgroups() error {
	for _, path := range n.cgroups() {
		if err := removeCgroup(path); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroup removes an empty cgroup. For a moment after its last process it is
// still in use.
func removeCgroup(path string) error {
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := os.Remove(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("remove a cgroup: %w", err)
		case <-ticker.C:
		}
	}
}
