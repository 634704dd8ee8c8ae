// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-k8s/slipway/localcluster"
)

func source(files ...string) fstest.MapFS {
	made := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		made[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return made
}

func TestKeyFollowsTheSource(t *testing.T) {
	base := source("go.mod", "module a", "cmd/main.go", "package main")
	cases := map[string]struct {
		other fs.FS
		same  bool
	}{
		"the same source":                  {source("cmd/main.go", "package main", "go.mod", "module a"), true},
		"another content":                  {source("go.mod", "module b", "cmd/main.go", "package main"), false},
		"another name":                     {source("go.mod", "module a", "cmd/other.go", "package main"), false},
		"one more file":                    {source("go.mod", "module a", "cmd/main.go", "package main", "go.sum", ""), false},
		"a line that moved into the other": {source("go.mod", "module a\ncmd/main.go 12\npackage main", "cmd/main.go", ""), false},
	}
	want, err := Key(base)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Key(tc.other)
			if err != nil || (got == want) != tc.same {
				t.Errorf("key %s, %v; the first one's is %s", got, err, want)
			}
		})
	}
}

func TestKubernetesVersion(t *testing.T) {
	cases := map[string]struct {
		mod, want string
		err       error
	}{
		"in a block":       {"require (\n\tk8s.io/kubernetes v1.2.3\n)", "v1.2.3", nil},
		"on its own":       {"require k8s.io/kubernetes v1.2.3 // indirect", "v1.2.3", nil},
		"only a namesake":  {"require k8s.io/kubernetes-x v1.2.3", "", errNoVersion},
		"nothing required": {"module a", "", errNoVersion},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := KubernetesVersion(source("go.mod", tc.mod))
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestLinkerFlags(t *testing.T) {
	got := linkerFlags("v1.37.1")
	for _, want := range []string{"version.gitVersion=v1.37.1", "version.gitMajor=1", "version.gitMinor=37"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

// Each link is a name under which the binary must know what to be.
func TestEveryLinkIsAComponent(t *testing.T) {
	main, err := fs.ReadFile(localcluster.ControlPlane, "cmd/controlplane/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range controlPlane.links {
		if !strings.Contains(string(main), fmt.Sprintf("%q:", name)) {
			t.Errorf("the binary does not know %s", name)
		}
	}
}

// What the launcher carries must be what is compiled here, to the last file.
func TestAllOfTheSourceIsCarried(t *testing.T) {
	for carried, made := range map[fs.FS]product{localcluster.ControlPlane: controlPlane, localcluster.Node: nodePrograms} {
		for _, compiled := range made.programs {
			here, err := filepath.Glob(filepath.Join("../..", compiled.mainPackage, "*.go"))
			if err != nil || len(here) == 0 {
				t.Fatalf("source files: %v, %v", here, err)
			}
			for _, path := range here {
				if _, err := fs.Stat(carried, filepath.ToSlash(filepath.Join(compiled.mainPackage, filepath.Base(path)))); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestCountPackages(t *testing.T) {
	output := strings.NewReader("k8s.io/api/core/v1\nruntime\n# k8s.io/x\nx.go:1:2: undefined: y\n")
	var compiled atomic.Int64
	complaints := countPackages(output, &compiled)
	if compiled.Load() != 2 || complaints != "# k8s.io/x\nx.go:1:2: undefined: y" {
		t.Errorf("%d packages, complaints %q", compiled.Load(), complaints)
	}
}

func TestHalfAnEntryIsNotUsed(t *testing.T) {
	e := &entry{product: controlPlane, dir: t.TempDir(), version: "v1"}
	for _, dir := range []string{e.binaries(), e.stages()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(e.binaries(), controlPlane.programs[0].name)
	if err := os.WriteFile(binary, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := e.check(); !errors.Is(err, errIncomplete) {
		t.Errorf("without links: %v", err)
	}
	if err := e.link(); err != nil {
		t.Fatal(err)
	}
	if err := e.check(); !errors.Is(err, errIncomplete) {
		t.Errorf("without stages: %v", err)
	}
	if err := os.WriteFile(filepath.Join(e.stages(), "a.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stages, err := e.stageFiles()
	if e.check() != nil || err != nil || len(stages) != 1 {
		t.Errorf("complete: %v, %v, %v", e.check(), stages, err)
	}
}

func TestBuildersWaitForEachOther(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(t.Context(), dir, controlPlane, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, dir, controlPlane, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second builder: %v", err)
	}
	unlock()
	again, err := lock(t.Context(), dir, controlPlane, nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
