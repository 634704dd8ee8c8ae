// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Clean removes all that is left of a node whose programs have ended, however they
// have: its containers, too, outlive them.
func (n Node) Clean(ctx context.Context) error {
	if err := n.killContainers(ctx); err != nil {
		return err
	}
	n.removeLeftovers() // while the node's directory still tells which they are
	if err := unmountBelow(n.path()); err != nil {
		return err
	}
	err := errors.Join(n.removeNetwork(ctx), n.removeCgroups(), n.removeIdentity(), restoreKernel(n.Recorded.Kernel))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(n.path()); err != nil {
		return fmt.Errorf("remove the files of node %s: %w", n.Name, err)
	}
	return nil
}

func (n Node) removeIdentity() error {
	for _, use := range []string{client, serving} {
		name := n.certificate(use)
		for _, path := range []string{n.cluster().Cert(name), n.cluster().Key(name)} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("remove a certificate of node %s: %w", n.Name, err)
			}
		}
	}
	return nil
}

// unmountBelow unmounts what is mounted below dir, and first what was mounted last.
// It has to be done before files are removed: removing goes into mounts.
func unmountBelow(dir string) error {
	const attempts = 3 // one mount may be above another of the same place
	for range attempts {
		content, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return fmt.Errorf("list what is mounted: %w", err)
		}
		mounted := mountsBelow(string(content), dir)
		if len(mounted) == 0 {
			return nil
		}
		for _, path := range mounted {
			// Detached: what still looks into it does not keep it here.
			if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
				return fmt.Errorf("unmount %s: %w", path, err)
			}
		}
	}
	return fmt.Errorf("unmount %s: something is mounted there again and again", dir)
}

// mountsBelow reads the mount points below dir from a table of mounts
// (proc_pid_mountinfo(5)), the last one first.
func mountsBelow(table, dir string) []string {
	const mountPoint = 4
	var found []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= mountPoint {
			continue
		}
		path := unescape(fields[mountPoint])
		if strings.HasPrefix(path, dir+"/") {
			found = append(found, path)
		}
	}
	slices.Reverse(found)
	return found
}

// unescape undoes how the kernel writes what would part fields.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
