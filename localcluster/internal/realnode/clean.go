// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/opencontainers/cgroups"
	"k8s.io/component-helpers/node/util/sysctl"

	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

// Clean removes everything of a node whose programs have ended, in any way: its containers, too, which outlive the
// programs.
func (n Node) Clean(ctx context.Context) error {
	own, err := n.ownCgroups()
	if err != nil {
		return err
	}
	if err := n.killContainers(ctx, own); err != nil {
		return err
	}
	n.removeLeftovers() // while the node's directory still lists them
	if err := unmountBelow(n.path()); err != nil {
		return err
	}
	failed := []error{n.removeNetwork(ctx), n.removeIdentity(), restoreKernel(n.Kernel)}
	for _, path := range own {
		failed = append(failed, cgroups.RemovePath(path))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove node %s from this machine: %w", n.Name, err)
	}
	if err := os.RemoveAll(n.path()); err != nil {
		return fmt.Errorf("remove the files of node %s: %w", n.Name, err)
	}
	return nil
}

// killContainers kills every process in the node's cgroups.
func (n Node) killContainers(ctx context.Context, own []string) error {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		found := 0
		for _, path := range own {
			pids, _ := cgroups.GetAllPids(path) // a cgroup that has gone has none
			for _, pid := range pids {
				identity, err := process.Observe(pid)
				if err != nil || !identity.Alive() || pid == os.Getpid() {
					continue
				}
				found++
				if err := process.Kill(identity); err != nil {
					return fmt.Errorf("kill the containers of node %s: %w", n.Name, err)
				}
			}
		}
		if found == 0 {
			return nil
		}
		// Once more: one of them may have started another meanwhile.
	}
	return fmt.Errorf("kill the containers of node %s: %w", n.Name, ctx.Err())
}

func (n Node) removeIdentity() error {
	client, server := n.identities()
	for _, name := range []string{client.Name, server.Name} {
		for _, path := range []string{n.dir().Cert(name), n.dir().Key(name)} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("remove a certificate of node %s: %w", n.Name, err)
			}
		}
	}
	return nil
}

// unmountBelow unmounts everything below dir, the latest mount first. It runs before files are
// removed, because that would go into the mounts.
func unmountBelow(dir string) error {
	const attempts = 3 // one mount may be above another at the same path
	for range attempts {
		mounted, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
		if err != nil {
			return fmt.Errorf("list the mounts below %s: %w", dir, err)
		}
		if len(mounted) == 0 {
			return nil
		}
		for _, mount := range slices.Backward(mounted) {
			// Detached: a process that still uses it does not keep it here.
			if err := syscall.Unmount(mount.Mountpoint, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
				return fmt.Errorf("unmount %s: %w", mount.Mountpoint, err)
			}
		}
	}
	return fmt.Errorf("unmount %s: mounts appear again", dir)
}

// Places outside of the node's directory that no setting of its programs moves.
const (
	shimSockets   = "/run/containerd/s"               // containerd: one for each pod
	cniResults    = "/var/lib/cni/results"            // the CNI library: one file for each pod
	containerLogs = "/var/log/containers"             // the kubelet: links to logs
	devicePlugins = "/var/lib/kubelet/device-plugins" // the kubelet: a socket and a checkpoint
)

// removeLeftovers removes the node's files in those places, and then the places, unless they
// have other files. A file that cannot be removed stays: it has no effect.
func (n Node) removeLeftovers() {
	for _, path := range glob(n.path("run", "io.containerd.runtime.v2.task", "k8s.io", "*", "address")) {
		address, _ := os.ReadFile(path)
		socket := strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://")
		if filepath.Dir(socket) == shimSockets {
			_ = os.Remove(socket)
		}
	}
	for _, path := range glob(filepath.Join(cniResults, "*")) {
		// Each names the network namespace, which is in the node's directory.
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), n.path()+"/") {
			_ = os.Remove(path)
		}
	}
	for _, path := range glob(filepath.Join(containerLogs, "*")) {
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, n.PodLogs()+"/") {
			_ = os.Remove(path)
		}
	}
	// A machine has one kubelet: these were the node's.
	for _, name := range []string{"kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"} {
		_ = os.Remove(filepath.Join(devicePlugins, name))
	}
	for _, dir := range []string{
		shimSockets, filepath.Dir(shimSockets), cniResults, filepath.Dir(cniResults), containerLogs,
		devicePlugins, filepath.Dir(devicePlugins),
	} {
		_ = os.Remove(dir) // fails unless it is empty
	}
}

func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern) // the patterns are good
	return found
}

// removeNetwork removes the machine's ends of the pods' networks, and the node's address.
func (n Node) removeNetwork(ctx context.Context) error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list the interfaces of this machine: %w", err)
	}
	for _, found := range interfaces {
		if !strings.HasPrefix(found.Name, "veth") || !hasAddress(found.Addrs, n.gateway()) {
			continue
		}
		err := ip(ctx, "link", "delete", found.Name)
		// It goes with the pod's network, which may have happened just now.
		if _, gone := net.InterfaceByName(found.Name); err != nil && gone == nil {
			return err
		}
	}
	if !hasAddress(net.InterfaceAddrs, n.Address()) {
		return nil
	}
	return ip(ctx, "address", "delete", n.Address()+"/32", "dev", "lo")
}

// kernelSettings are settings that every kubelet sets, and the one that the network plugin sets.
var kernelSettings = []string{
	"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
	"net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom",
}

// KernelSettings returns the present values of those settings, for Clean to restore.
func KernelSettings() map[string]int {
	found := map[string]int{}
	for _, name := range kernelSettings {
		if value, err := sysctl.New().GetSysctl(name); err == nil {
			found[name] = value
		}
	}
	return found
}

func restoreKernel(before map[string]int) error {
	now := KernelSettings()
	for name, value := range before {
		if now[name] == value {
			continue
		}
		if err := sysctl.New().SetSysctl(name, value); err != nil {
			return fmt.Errorf("restore the kernel setting %s to %d: %w", strings.ReplaceAll(name, "/", "."), value, err)
		}
	}
	return nil
}
