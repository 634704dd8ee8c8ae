// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// compile fills the cache entry. It begins with an empty one, so that no file of an interrupted
// attempt stays.
func (e *entry) compile(ctx context.Context, report *progress.Reporter) error {
	report.Step("building %s of Kubernetes %s into %s; the first time takes minutes", e.product.name, e.version, e.dir)
	for _, dir := range []string{e.source(), e.binaries(), e.stages()} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an interrupted attempt: %w", err)
		}
		if err := os.MkdirAll(dir, files.PrivateDir); err != nil {
			return fmt.Errorf("make a directory in the cache: %w", err)
		}
	}
	if err := os.CopyFS(e.source(), e.product.source); err != nil {
		return fmt.Errorf("unpack the source: %w", err)
	}
	if e.product.version != "" {
		if err := e.writeModule(ctx); err != nil {
			return err
		}
	}
	for _, made := range e.product.programs {
		if err := e.goBuild(ctx, made, report); err != nil {
			return err
		}
	}
	for _, name := range e.product.links {
		if err := os.Symlink(e.product.programs[0].name, filepath.Join(e.binaries(), name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	if e.product.stages {
		if err := e.copyStages(ctx); err != nil {
			return err
		}
	}
	return files.Replace(e.complete(), nil)
}

// writeModule writes the go.mod of the version: it is the one of Kubernetes, so that all dependencies have the versions of that
// release, with the published staging modules.
func (e *entry) writeModule(ctx context.Context) error {
	var complaints bytes.Buffer
	download := e.goCommand(ctx, "mod", "download", "-json", "k8s.io/kubernetes@"+e.version)
	download.Stderr = &complaints
	answer, err := download.Output()
	if err != nil {
		return fmt.Errorf("go mod download: %w\n%s%s", err, answer, &complaints)
	}
	var module struct{ GoMod, Dir string }
	if err := json.Unmarshal(answer, &module); err != nil {
		return fmt.Errorf("read the answer of go mod download: %w", err)
	}
	content, err := os.ReadFile(module.GoMod)
	if err != nil {
		return fmt.Errorf("read the go.mod of Kubernetes: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(module.Dir, "go.sum"))
	if err != nil {
		return fmt.Errorf("read the go.sum of Kubernetes: %w", err)
	}
	text, err := moduleOf(e.version, content)
	if err != nil {
		return err
	}
	return errors.Join(files.Replace(filepath.Join(e.source(), "go.mod"), text), files.Replace(filepath.Join(e.source(), "go.sum"), sums))
}

// moduleOf returns the go.mod of a module that requires a version of Kubernetes, from the go.mod of that version.
func moduleOf(version string, kubernetes []byte) ([]byte, error) {
	f, err := modfile.Parse("go.mod", kubernetes, nil)
	if err != nil {
		return nil, fmt.Errorf("read the go.mod of Kubernetes %s: %w", version, err)
	}
	errs := []error{f.AddModuleStmt("github.com/slipway-k8s/slipway/localcluster"), f.AddRequire("k8s.io/kubernetes", version)}
	staging := "v0" + strings.TrimPrefix(version, "v1")
	for _, r := range slices.Clone(f.Replace) {
		if strings.HasPrefix(r.New.Path, "./") {
			errs = append(errs, f.AddReplace(r.Old.Path, "", r.Old.Path, staging))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("write the go.mod for Kubernetes %s: %w", version, err)
	}
	return f.Format()
}

func (e *entry) goBuild(ctx context.Context, made program, report *progress.Reporter) error {
	// No flags that change how packages are compiled: so the toolchain's own cache serves
	// `go vet` and other builds with these packages, and they serve this one.
	build := e.goCommand(ctx, "build", e.modFlag(), "-v", "-buildvcs=false", "-ldflags", linkerFlags(e.version),
		"-o", filepath.Join(e.binaries(), made.name), "./cmd/"+made.name)
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
	compiled, complaints := follow(output, report)
	if err := build.Wait(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, complaints)
	}
	report.Step("%s is built; %d packages compiled, the rest was compiled before", made.name, compiled)
	return nil
}

// modFlag lets the build add the sums of the staging modules, which the go.sum of Kubernetes lacks.
func (e *entry) modFlag() string {
	if e.product.version != "" {
		return "-mod=mod"
	}
	return "-mod=readonly"
}

// follow counts the packages that `go build -v` names, and reports the number every few seconds. It returns the end
// of the remaining lines, which have the errors.
func follow(output io.Reader, report *progress.Reporter) (compiled int, complaints string) {
	const kept, interval = 30, 5 * time.Second
	var others []string
	reported := time.Now()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if isPackage(lines.Text()) {
			compiled++
		} else {
			others = append(others, lines.Text())
		}
		if time.Since(reported) > interval {
			report.Step("building: %d packages compiled", compiled)
			reported = time.Now()
		}
	}
	return compiled, strings.Join(others[max(0, len(others)-kept):], "\n")
}

// isPackage tells an import path from a message.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:") && !strings.HasPrefix(line, "#")
}

// linkerFlags put the version into the binary: otherwise every component and the API itself would report v0.0.0.
func linkerFlags(version string) string {
	const variables = "k8s.io/component-base/version."
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, assignment := range []string{
		"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=archive",
	} {
		flags = append(flags, "-X", variables+assignment)
	}
	return strings.Join(flags, " ")
}

// stageSets are directories of kwok's module. With pod/general, annotations of a pod set how long
// it takes to start and to end.
var stageSets = []string{"node/fast", "node/heartbeat-with-lease", "pod/general"}

// copyStages copies kwok's stage files from its module, which the build has just fetched: of the
// same version as the kwok that reads them.
func (e *entry) copyStages(ctx context.Context) error {
	var complaints bytes.Buffer
	list := e.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	list.Stderr = &complaints
	module, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, &complaints)
	}
	for _, set := range stageSets {
		found, err := filepath.Glob(filepath.Join(string(bytes.TrimSpace(module)), "kustomize", "stage", set, "*.yaml"))
		if err != nil {
			return fmt.Errorf("look for kwok's stages: %w", err)
		}
		for _, path := range found {
			if filepath.Base(path) == "kustomization.yaml" {
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read a stage of kwok: %w", err)
			}
			if err := files.Replace(filepath.Join(e.stages(), filepath.Base(path)), content); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *entry) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = e.source()
	// A workspace around the cache directory does not count.
	command.Env = append(os.Environ(), "GOWORK=off", "PWD="+e.source())
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	return command
}
