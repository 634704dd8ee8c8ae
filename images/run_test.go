// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// jail runs a program of the image as a runtime would: as the image's user, with the image as
// the root, and nothing else there, not even /proc.
func jail(t *testing.T, out, program string, args ...string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("missing: only root can change the root of a process")
	}
	img := images(t, out)[runtime.GOARCH]
	if img == nil {
		t.Skipf("there is no image for %s", runtime.GOARCH)
	}
	root, err := os.MkdirTemp("", "slipway-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	unpack(t, img, root)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "/"+program, args...)
	command.Dir, command.Env = "/", []string{}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s in an empty root: %v\n%s", filepath.Base(program), err, text)
	}
	return string(text)
}

func TestAProgramRunsWithNothingElse(t *testing.T) {
	got := jail(t, buildTiny(t), "tiny", "a")
	for _, want := range []string{"uid 65532 gid 65532 args [a]", "sees [- other - tiny] <nil>", "writes open /tiny: permission denied"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q, but:\n%s", want, got)
		}
	}
}
