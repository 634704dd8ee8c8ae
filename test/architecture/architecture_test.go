// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root     = "../../"
	page     = root + "docs/architecture.md"
	module   = "github.com/slipway-k8s/slipway/"
	internal = module + "internal/"
	// maxAreas keeps the top level readable at a glance.
	maxAreas = 14
)

// pureModules are what a pure package may import besides the standard library and other
// pure packages: API types, and helpers of the scheduler that are pure themselves.
var pureModules = []string{
	"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/component-helpers/", "k8s.io/utils/ptr", "k8s.io/kubectl/pkg/util/podutils", "sigs.k8s.io/yaml", "sigs.k8s.io/json",
	"github.com/go-logr/logr", // these helpers want a logger, which logs nothing
	module + "api/",
	module + "drain",         // its requests and previews
	module + "nodelease",     // the terms of a lease
	module + "slipwayclient", // the events that it asks for
}

// impure are packages of the standard library that act, or keep state between calls.
var impure = []string{"os", "os/exec", "net", "net/http", "sync", "sync/atomic", "log", "log/slog", "context"}

var (
	areaRow    = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| [^|]+ \\|([a-z, ]*)\\|$")
	packageRow = regexp.MustCompile("(?m)^\\| `([a-z]+(?:/[a-z]+)*)` \\| (yes)? *\\| [^|]+ \\|$")
)

type goPackage struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

// section is the part of the page below that heading.
func section(t *testing.T, heading, end string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), heading)
	section, _, ended := strings.Cut(after, end)
	if !found || !ended {
		t.Fatalf("%s has no section %q that ends with %q", page, heading, end)
	}
	return section
}

func packages(t *testing.T) map[string]goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./internal/...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]goPackage{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			found[strings.TrimPrefix(p.ImportPath, internal)] = p
		}
	}
}

func area(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

func TestAreasImportWhatThePageAllows(t *testing.T) {
	allowed := map[string][]string{}
	for _, row := range areaRow.FindAllStringSubmatch(section(t, "\n## Areas\n", "\n## "), -1) {
		allowed[row[1]] = strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' })
	}
	all := packages(t)
	areas := map[string]bool{}
	for name, p := range all {
		areas[area(name)] = true
		for _, path := range p.Imports {
			other, ours := strings.CutPrefix(path, internal)
			if ours && area(other) != area(name) && !slices.Contains(allowed[area(name)], area(other)) {
				t.Errorf("%s imports %s, but the page does not let area %s import area %s", name, other, area(name), area(other))
			}
		}
	}
	for name := range areas {
		if _, found := allowed[name]; !found {
			t.Errorf("area %s has no row in the table of areas", name)
		}
	}
	for name := range allowed {
		if !areas[name] {
			t.Errorf("the table of areas has %s, which is no folder of internal/", name)
		}
	}
	if len(areas) > maxAreas {
		t.Errorf("internal/ has %d folders; at most %d can be read at a glance", len(areas), maxAreas)
	}
	if cycle := cycleIn(allowed); cycle != nil {
		t.Errorf("the areas form a cycle: %s", strings.Join(cycle, " → "))
	}
}

// cycleIn returns a cycle of the graph, or nil.
func cycleIn(graph map[string][]string) []string {
	done := map[string]bool{}
	var visit func(name string, path []string) []string
	visit = func(name string, path []string) []string {
		if i := slices.Index(path, name); i >= 0 {
			return append(slices.Clone(path[i:]), name)
		}
		if done[name] {
			return nil
		}
		for _, next := range graph[name] {
			if cycle := visit(next, append(path, name)); cycle != nil {
				return cycle
			}
		}
		done[name] = true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(graph)) {
		if cycle := visit(name, nil); cycle != nil {
			return cycle
		}
	}
	return nil
}

func TestACycleIsFound(t *testing.T) {
	if got := cycleIn(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}); !slices.Equal(got, []string{"b", "c", "b"}) {
		t.Errorf("got %v", got)
	}
	if got := cycleIn(map[string][]string{"a": {"b", "c"}, "b": {"c"}}); got != nil {
		t.Errorf("a graph without a cycle has %v", got)
	}
}

// described are the packages of the page, and whether each is pure.
func described(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, row := range packageRow.FindAllStringSubmatch(section(t, "\n## Packages\n", "\n### Beside `internal/`"), -1) {
		found[row[1]] = row[2] == "yes"
	}
	return found
}

func TestThePageHasEachPackage(t *testing.T) {
	rows, all := described(t), packages(t)
	for name := range all {
		if _, found := rows[name]; !found {
			t.Errorf("package internal/%s has no row on the page", name)
		}
	}
	for name := range rows {
		if _, found := all[name]; !found {
			t.Errorf("the page has package %s, which internal/ does not", name)
		}
	}
}

func TestPurePackagesOnlyDecide(t *testing.T) {
	pure, all := described(t), packages(t)
	for name, isPure := range pure {
		if !isPure {
			continue
		}
		for _, path := range all[name].Imports {
			if !mayBeImportedByPure(path, pure) {
				t.Errorf("%s is pure on the page, and imports %s", name, path)
			}
		}
		for _, file := range all[name].GoFiles {
			for _, place := range goroutines(t, filepath.Join(all[name].Dir, file)) {
				t.Errorf("%s is pure on the page, and starts a goroutine: %s", name, place)
			}
		}
	}
}

func mayBeImportedByPure(path string, pure map[string]bool) bool {
	if name, ours := strings.CutPrefix(path, internal); ours {
		return pure[name]
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return !slices.Contains(impure, path)
	}
	return slices.ContainsFunc(pureModules, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

func goroutines(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if statement, is := n.(*ast.GoStmt); is {
			found = append(found, files.Position(statement.Pos()).String())
		}
		return true
	})
	return found
}
