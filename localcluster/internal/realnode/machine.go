// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/slipway-k8s/slipway/localcluster/internal/files"
)

// ErrMissing means that this machine cannot be a node in its present state.
var ErrMissing = errors.New("no real node can be on this machine")

// programs are needed by a node.
var programs = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"}

// networkPlugins give pods their network. Packages put them into one of networkPluginDirs.
var (
	networkPlugins    = []string{"host-local", "loopback", "ptp"}
	networkPluginDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}
)

// packages have them on Debian and Ubuntu.
const packages = "containerd runc containernetworking-plugins iproute2"

// neededControllers are those without which a kubelet does not start.
var neededControllers = []string{"cpu", "cpuset", "memory", "pids"}

// Missing returns an error that lists everything that this machine lacks, or nil.
func Missing() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root can make one", ErrMissing)
	}
	var capabilities [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &capabilities[0]); err != nil {
		return fmt.Errorf("%w: read the capabilities: %w", ErrMissing, err)
	}
	const needed = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN // in a container, root often has neither
	if capabilities[0].Effective&needed != needed {
		return fmt.Errorf("%w: root needs the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN here, to mount and to make networks", ErrMissing)
	}
	if err := checkCgroups(); err != nil {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	absent := slices.DeleteFunc(slices.Clone(programs), func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if pluginDir() == "" {
		absent = append(absent, "network plugins ("+strings.Join(networkPlugins, ", ")+")")
	}
	if len(absent) > 0 {
		return fmt.Errorf("%w: not installed: %s; on Debian: apt-get install %s", ErrMissing, strings.Join(absent, ", "), packages)
	}
	return nil
}

func checkCgroups() error {
	mounts, err := cgroups.GetCgroupMounts(true)
	if err != nil {
		return fmt.Errorf("list the cgroup controllers: %w", err)
	}
	absent := slices.DeleteFunc(slices.Clone(neededControllers), func(needed string) bool {
		return slices.ContainsFunc(mounts, func(mount cgroups.Mount) bool { return slices.Contains(mount.Subsystems, needed) })
	})
	if len(absent) > 0 {
		return fmt.Errorf("this machine has no cgroups of %s", strings.Join(absent, ", "))
	}
	return nil
}

// pluginDir is the first directory that has all plugins, or empty.
func pluginDir() string {
	for _, dir := range networkPluginDirs {
		if !slices.ContainsFunc(networkPlugins, func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err != nil
		}) {
			return dir
		}
	}
	return ""
}

// checkAlone refuses a machine on which another kubelet runs: the two would take each other's
// socket in /var/lib/kubelet, which no setting moves, and change the kernel's settings.
func checkAlone(own int) error {
	self, err := procfs.Self()
	if err != nil {
		return fmt.Errorf("look for other kubelets: %w", err)
	}
	here, err := self.Namespaces()
	if err != nil {
		return fmt.Errorf("look for other kubelets: %w", err)
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return fmt.Errorf("look for other kubelets: %w", err)
	}
	for _, candidate := range all {
		if name, err := candidate.Comm(); err != nil || name != Kubelet || candidate.PID == own {
			continue
		}
		// A kubelet in a container has separate files.
		if there, err := candidate.Namespaces(); err == nil && there["mnt"].Inode == here["mnt"].Inode {
			return fmt.Errorf("%w: another kubelet runs here, process %d; one machine is one node", ErrMissing, candidate.PID)
		}
	}
	return nil
}

// ownCgroups are the directories of the node's cgroup: one with version 2; with version 1 one in each hierarchy, and
// in the hierarchy of version 2, which some systems have in addition.
func (n Node) ownCgroups() ([]string, error) {
	mounts, err := cgroups.GetCgroupMounts(true)
	if err != nil {
		return nil, fmt.Errorf("list the hierarchies of cgroups: %w", err)
	}
	var found []string
	for _, mount := range mounts {
		found = append(found, filepath.Join(mount.Mountpoint, n.Cgroup))
	}
	if cgroups.IsCgroup2HybridMode() {
		const beside = "/sys/fs/cgroup/unified"
		found = append(found, filepath.Join(beside, n.Cgroup))
	}
	return found, nil
}

// makeCgroup makes the cgroup below which the kubelet puts all of its pods: it has no other
// processes.
func (n Node) makeCgroup() error {
	own, err := n.ownCgroups()
	if err != nil {
		return err
	}
	for _, path := range own {
		if err := os.Mkdir(path, files.PrivateDir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a cgroup for the pods: %w", err)
		}
		if !cgroups.IsCgroup2UnifiedMode() {
			continue
		}
		// Of the root, and then of the new one: those below may use these controllers.
		for _, above := range []string{filepath.Dir(path), path} {
			for _, controller := range neededControllers {
				if err := cgroups.WriteFile(above, "cgroup.subtree_control", "+"+controller); err != nil {
					return fmt.Errorf("give the pods' cgroups the controller %s: %w", controller, err)
				}
			}
		}
	}
	return nil
}

// addAddress gives the loopback interface the node's address. A kubelet accepts none of
// 127.0.0.0/8, and other machines could reach another address of this machine.
func (n Node) addAddress(ctx context.Context) error {
	if hasAddress(net.InterfaceAddrs, n.Address()) {
		return nil
	}
	return ip(ctx, "address", "add", n.Address()+"/32", "dev", "lo")
}

func hasAddress(list func() ([]net.Addr, error), wanted string) bool {
	addresses, _ := list() // an interface that has gone has none
	return slices.ContainsFunc(addresses, func(address net.Addr) bool {
		own, ok := address.(*net.IPNet)
		return ok && own.IP.String() == wanted
	})
}

func ip(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
