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

// compile builds the programs for linux on arch, into a directory. The files depend only on the source and the
// version of Go.
func compile(ctx context.Context, r release, arch, into string) error {
	args := []string{
		"build",
		"-trimpath",                   // the path of the source depends on the machine
		"-buildvcs=false",             // the image names its commit, without git in the build
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
		// These override the settings of this machine for its own builds.
		"GOENV=off", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
		// This program was built with the same version, which make image selects.
		"GOTOOLCHAIN="+runtime.Version(),
	)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("compile for %s: %w", arch, err)
	}
	return nil
}
