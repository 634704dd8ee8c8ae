// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// compile fills the cache entry.
func (e *entry) compile(ctx context.Context, source fs.FS, report *progress.Reporter) error {
	report.Step("building %s of Kubernetes %s into %s; the first time takes minutes", e.product.name, e.version, e.dir)
	if err := e.unpack(source); err != nil {
		return err
	}
	for _, dir := range []string{e.binaries(), e.stages()} {
		if err := os.MkdirAll(dir, privateDir); err != nil {
			return fmt.Errorf("make a directory in the cache: %w", err)
		}
	}
	for _, made := range e.product.programs {
		packages, err := e.output(ctx, "list", "-deps", made.mainPackage)
		if err != nil {
			return err
		}
		if err := e.goBuild(ctx, made, strings.Count(packages, "\n"), report); err != nil {
			return err
		}
	}
	if e.product.stages {
		if err := e.copyStages(ctx); err != nil {
			return err
		}
	}
	return e.link()
}

// unpack writes the source anew, so that no file of an interrupted attempt
// stays.
func (e *entry) unpack(source fs.FS) error {
	if err := os.RemoveAll(e.source()); err != nil {
		return fmt.Errorf("remove an old source: %w", err)
	}
	if err := os.CopyFS(e.source(), source); err != nil {
		return fmt.Errorf("unpack the source: %w", err)
	}
	return nil
}

// goBuild compiles and says every few seconds how far it is.
func (e *entry) goBuild(ctx context.Context, made program, packages int, report *progress.Reporter) error {
	// Built under another name: a binary that is there is complete.
	binary := filepath.Join(e.binaries(), made.name)
	// No flags that change how packages are compiled: so the toolchain's own cache
	// serves `go vet` and others who need these packages, and they serve it.
	build := e.goCommand(ctx, "build", "-v", "-buildvcs=false", "-ldflags", linkerFlags(e.version), "-o", binary+".new", made.mainPackage)
	if made.static {
		build.Env = append(build.Env, "CGO_ENABLED=0")
	}
	output, err := build.StderrPipe()
	if err != nil {
		return fmt.Errorf("read the compiler's output: %w", err)
	}
	if err := build.Start(); err != nil {
		return fmt.Errorf("start the Go toolchain (is it installed?): %w", err)
	}
	var compiled atomic.Int64
	done := make(chan struct{})
	go signsOfLife(done, &compiled, packages, report)
	complaints := countPackages(output, &compiled)
	err = build.Wait()
	close(done)
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, complaints)
	}
	report.Step("%s is built; %d packages compiled, the others were compiled before", made.name, compiled.Load())
	return os.Rename(binary+".new", binary)
}

// signsOfLife reports until done is closed.
func signsOfLife(done <-chan struct{}, compiled *atomic.Int64, packages int, report *progress.Reporter) {
	const interval = 5 * time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			report.Step("building: %d of at most %d packages compiled", compiled.Load(), packages)
		}
	}
}

// countPackages counts the lines that name a package that is now compiled, and
// returns the end of the others, which say what is wrong.
func countPackages(output io.Reader, compiled *atomic.Int64) string {
	const kept = 30
	var complaints []string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		line := lines.Text()
		if isPackage(line) {
			compiled.Add(1)
			continue
		}
		complaints = append(complaints, line)
		if len(complaints) > kept {
			complaints = complaints[1:]
		}
	}
	return strings.Join(complaints, "\n")
}

// isPackage tells an import path from a message: `go build -v` prints both.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:") && !strings.HasPrefix(line, "#")
}

// link makes the binary known by the names of the components.
func (e *entry) link() error {
	for _, name := range e.product.links {
		path := filepath.Join(e.binaries(), name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("replace a link: %w", err)
		}
		if err := os.Symlink(e.product.programs[0].name, path); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

func (e *entry) output(ctx context.Context, args ...string) (string, error) {
	command := e.goCommand(ctx, args...)
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w%s", strings.Join(args, " "), err, standardError(err))
	}
	return string(output), nil
}

func standardError(err error) string {
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // straight from Output
		return "\n" + string(failed.Stderr)
	}
	return ""
}

func (e *entry) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = e.source()
	// A workspace around the cache directory is none of ours.
	command.Env = append(os.Environ(), "GOWORK=off", "PWD="+e.source())
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	return command
}
