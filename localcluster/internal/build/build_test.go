// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

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
	others, err := fs.ReadFile(localcluster.ControlPlane, "cmd/controlplane/others.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ControlPlane.links {
		source := main
		if slices.Contains(fromGoMod, name) {
			source = others
		}
		if !strings.Contains(string(source), strconv.Quote(name)) {
			t.Errorf("the binary does not know %s", name)
		}
	}
}

// The launcher must carry what is compiled here, to the last file.
func TestAllOfTheSourceIsCarried(t *testing.T) {
	for _, product := range []Product{ControlPlane, Node} {
		for _, compiled := range product.programs {
			here, err := filepath.Glob(filepath.Join("../../cmd", compiled.name, "*.go"))
			if err != nil || len(here) == 0 {
				t.Fatalf("source files: %v, %v", here, err)
			}
			for _, path := range here {
				if _, err := fs.Stat(product.source, "cmd/"+compiled.name+"/"+filepath.Base(path)); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestFollow(t *testing.T) {
	output := strings.NewReader("k8s.io/api/core/v1\nruntime\n# k8s.io/x\nx.go:1:2: undefined: y\n")
	compiled, complaints := follow(output, nil)
	if compiled != 2 || complaints != "# k8s.io/x\nx.go:1:2: undefined: y" {
		t.Errorf("%d packages, complaints %q", compiled, complaints)
	}
}

func TestOnlyACompleteEntryIsUsed(t *testing.T) {
	cache := t.TempDir()
	entry, err := newEntry(cache, ControlPlane)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(entry.binaries(), 0o700); err != nil {
		t.Fatal(err)
	}
	if entry.isComplete() {
		t.Error("an interrupted build counts as complete")
	}
	if err := os.WriteFile(entry.complete(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := Ensure(t.Context(), cache, ControlPlane, nil)
	if err != nil || built.Binaries != entry.binaries() {
		t.Errorf("built %+v, %v", built, err)
	}
}

func TestTheModuleOfAVersion(t *testing.T) {
	text, err := moduleOf("v1.35.4", []byte(`module k8s.io/kubernetes

go 1.25.0

require (
	example.com/pinned v1.0.0
	k8s.io/api v0.0.0
)

replace k8s.io/api => ./staging/src/k8s.io/api
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"module github.com/slipway-k8s/slipway/localcluster\n", "go 1.25.0", "example.com/pinned v1.0.0", "k8s.io/kubernetes v1.35.4",
		"replace k8s.io/api => k8s.io/api v0.35.4",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
