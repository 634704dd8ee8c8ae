// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// KillStrays ends what descendants of our processes left behind: every process
// whose environment holds this "NAME=value" entry, this process excepted. The
// entry has to be one that nobody else can have by chance.
func KillStrays(marker string) error {
	deadline := time.Now().Add(10 * time.Second)
	// One that is just about to run another program shows no environment for a moment.
	moment := time.NewTicker(pollInterval)
	defer moment.Stop()
	for none := 0; none < 2; {
		strays, err := withEnvironment(marker)
		if err != nil {
			return err
		}
		if len(strays) == 0 {
			none++
			<-moment.C
			continue
		}
		none = 0
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v come back after SIGKILL", strays)
		}
		var failed []error
		for _, stray := range strays {
			failed = append(failed, Kill(stray))
		}
		if err := errors.Join(failed...); err != nil {
			return err
		}
		// Once more: one of them may have started another meanwhile.
	}
	return nil
}

func withEnvironment(marker string) ([]Identity, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || !hasEnvironment(pid, marker) {
			continue
		}
		if identity, err := Observe(pid); err == nil && identity.Alive() {
			found = append(found, identity)
		}
	}
	return found, nil
}

// hasEnvironment reads the environment that the process was started with, of any
// thread: one that has ended has none. That of other users' processes cannot be
// read: those are not ours.
func hasEnvironment(pid int, marker string) bool {
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "environ")) // the pattern is good
	return slices.ContainsFunc(threads, func(thread string) bool {
		environment, _ := os.ReadFile(thread)
		return slices.ContainsFunc(bytes.Split(environment, []byte{0}), func(entry []byte) bool { return string(entry) == marker })
	})
}
