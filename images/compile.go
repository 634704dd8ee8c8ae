// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// compile builds the programs for linux on arch, into a directory, as files that depend on
// nothing but the source and the version of Go.
func compile(ctx context.Context, r release, arch, into string) error {
	args := []string{
		"build",
		"-trimpath",                   // where the source is, is nobody's business
		"-buildvcs=false",             // the image says which commit it is of, and does so without git in the build
		"-ldflags", "-s -w -buildid=", // no symbols; stack traces need none
		"-o", into + string(filepath.Separator),
	}
	for _, program := range r.programs {
		args = append(args, "./cmd/"+program)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = r.dir
	command.Env = append(os.Environ(),
		"CGO_ENABLED=0", // static: there is no libc in the image
		"GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		// What this machine has set for its own builds is not for these.
		"GOENV=off", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
		// The one that this program was built with: make image says which.
		"GOTOOLCHAIN="+runtime.Version(),
	)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("compile for %s: %w", arch, err)
	}
	return nil
}
