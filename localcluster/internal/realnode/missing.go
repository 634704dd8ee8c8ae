// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrMissing means that this machine cannot be a node as it is.
var ErrMissing = errors.New("no real node can be on this machine")

// programs that a node needs, and what in Debian and Ubuntu installs each.
var programs = []struct{ name, install string }{
	{"containerd", "containerd"},
	{"containerd-shim-runc-v2", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"ip", "iproute2"},
}

// networkPlugins are those that give pods their network, and networkPluginDirs are
// where packages put them.
var (
	networkPlugins    = []string{"host-local", "loopback", "ptp"}
	networkPluginDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}
)

const networkPackage = "containernetworking-plugins"

// Missing returns an error that says all that this machine lacks, or nil.
func Missing() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root can make one", ErrMissing)
	}
	if lacking := lackingCapabilities(); len(lacking) > 0 {
		return fmt.Errorf("%w: this root may not mount and make networks: it lacks %s", ErrMissing, strings.Join(lacking, " and "))
	}
	if err := checkCgroups(); err != nil {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	absent, install := absentPrograms(func(name string) bool { _, err := exec.LookPath(name); return err == nil }, pluginDir() != "")
	if len(absent) > 0 {
		return fmt.Errorf("%w: not installed: %s; on Debian: apt-get install %s",
			ErrMissing, strings.Join(absent, ", "), strings.Join(install, " "))
	}
	return nil
}

// absentPrograms lists what is not there, and which packages have it.
func absentPrograms(isThere func(string) bool, hasPlugins bool) (absent, install []string) {
	for _, program := range programs {
		if isThere(program.name) {
			continue
		}
		absent = append(absent, program.name)
		if !slices.Contains(install, program.install) {
			install = append(install, program.install)
		}
	}
	if !hasPlugins {
		absent = append(absent, "network plugins ("+strings.Join(networkPlugins, ", ")+")")
		install = append(install, networkPackage)
	}
	return absent, install
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

// lackingCapabilities are those of root's rights without which there are no mounts and
// no networks: in a container, root often has neither.
func lackingCapabilities() []string {
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return []string{"/proc"}
	}
	return lackingIn(string(content))
}

func lackingIn(status string) []string {
	_, rest, _ := strings.Cut(status, "CapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	const hexadecimal, bits = 16, 64
	effective, err := strconv.ParseUint(strings.TrimSpace(line), hexadecimal, bits)
	if err != nil {
		return []string{"capabilities that can be read"}
	}
	const netAdmin, sysAdmin = 12, 21 // linux/capability.h
	var lacking []string
	if effective&(1<<sysAdmin) == 0 {
		lacking = append(lacking, "CAP_SYS_ADMIN")
	}
	if effective&(1<<netAdmin) == 0 {
		lacking = append(lacking, "CAP_NET_ADMIN")
	}
	return lacking
}

// checkAlone refuses where another kubelet runs: it and ours would take each other's
// socket in /var/lib/kubelet, which no setting moves, and change the kernel's settings.
func checkAlone(own int) error {
	here, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return fmt.Errorf("look for other kubelets: %w", err)
	}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return fmt.Errorf("look for other kubelets: %w", err)
	}
	for _, path := range names {
		name, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(name)) != Kubelet {
			continue
		}
		process := filepath.Dir(path)
		// One in a container has files of its own.
		if there, err := os.Readlink(filepath.Join(process, "ns/mnt")); err == nil && there == here && filepath.Base(process) != strconv.Itoa(own) {
			return fmt.Errorf("%w: another kubelet runs here, process %s; one machine is one node", ErrMissing, filepath.Base(process))
		}
	}
	return nil
}
