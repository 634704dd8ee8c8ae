// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const sysctls = "/proc/sys"

// kernelSettings are those that every kubelet sets, and the one that the network
// plugin does.
var kernelSettings = []string{
	"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
	"net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom",
}

// KernelSettings are how those settings are now, for Clean to bring back.
func KernelSettings() map[string]string {
	found := map[string]string{}
	for _, name := range kernelSettings {
		if content, err := os.ReadFile(filepath.Join(sysctls, name)); err == nil {
			found[name] = strings.TrimSpace(string(content))
		}
	}
	return found
}

func restoreKernel(before map[string]string) error {
	now := KernelSettings()
	for name, value := range before {
		if now[name] == value {
			continue
		}
		if err := os.WriteFile(filepath.Join(sysctls, name), []byte(value), 0); err != nil {
			return fmt.Errorf("set the kernel's %s back to %s: %w", strings.ReplaceAll(name, "/", "."), value, err)
		}
	}
	return nil
}
