// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources are where reason codes are declared, and by which constants: of a type, or with
// a prefix of their name.
var sources = []struct {
	files, typed, prefix string
}{
	{files: "../../drain/status.go", typed: "Reason"},
	{files: "../../api/lifecycle/v1alpha1/*.go", typed: "Guard"},
	{files: "../../api/lifecycle/v1alpha1/*.go", prefix: "Reason"},
	{files: "../../api/slipway/v1alpha1/*.go", prefix: "Reason"},
	{files: "../drainer/driver/*.go", prefix: "Reason"},
	{files: "../node/shutdown/event.go", prefix: "Reason"},
	{files: "../maintenance/*.go", prefix: "ReasonNodeUncordoned"},
	{files: "*.go", prefix: "Code"},
}

func TestEveryReasonCodeIsInTheCatalogueAndNoOther(t *testing.T) {
	var declared []string
	for _, s := range sources {
		found := codesIn(t, s.files, s.typed, s.prefix)
		if len(found) == 0 {
			t.Errorf("%s declares no codes: are they somewhere else now?", s.files)
		}
		declared = append(declared, found...)
	}
	var listed []string
	for _, e := range Entries() {
		if e.Place != NodeState {
			listed = append(listed, e.Code)
		}
	}
	if diff := cmp.Diff(sorted(declared), sorted(listed)); diff != "" {
		t.Errorf("reason codes (-in the source +in the catalogue):\n%s", diff)
	}
}

func sorted(codes []string) []string { return slices.Compact(slices.Sorted(slices.Values(codes))) }

// codesIn are the values of the constants of a type, or with a prefix.
func codesIn(t *testing.T, pattern, typed, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				codes = append(codes, constants(t, decl, typed, prefix)...)
			}
		}
	}
	return codes
}

func constants(t *testing.T, decl *ast.GenDecl, typed, prefix string) []string {
	t.Helper()
	var codes []string
	for _, s := range decl.Specs {
		spec := s.(*ast.ValueSpec)
		of, _ := spec.Type.(*ast.Ident)
		isTyped := typed != "" && of != nil && of.Name == typed
		isNamed := prefix != "" && strings.HasPrefix(spec.Names[0].Name, prefix)
		if !isTyped && !isNamed {
			continue
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no literal", spec.Names[0].Name)
		}
		code, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
	}
	return codes
}

func TestEntriesAreShortAndUnique(t *testing.T) {
	seen := map[key]bool{}
	for _, e := range Entries() {
		at := key{e.Place, e.Code}
		if seen[at] {
			t.Errorf("%s is in %s twice", e.Code, e.Place)
		}
		seen[at] = true
		if e.Means == "" || !strings.HasSuffix(e.Means, ".") || len(e.Means) > 240 {
			t.Errorf("%s in %s: Means %q is no short sentence", e.Code, e.Place, e.Means)
		}
		if strings.HasSuffix(e.Helps, ".") || len(e.Helps) > 160 {
			t.Errorf("%s in %s: Helps %q is to be short, and part of a sentence", e.Code, e.Place, e.Helps)
		}
		if e.Helps == "" && !e.Passes {
			t.Errorf("%s in %s neither passes nor is there anything that helps", e.Code, e.Place)
		}
		if (e.Status == "") != slices.Contains([]Place{Blocker, Maintenance, MaintenanceNode}, e.Place) {
			t.Errorf("%s in %s has status %q", e.Code, e.Place, e.Status)
		}
	}
}

func TestAStateIsFoundInAnySpelling(t *testing.T) {
	for code, want := range map[string]string{
		"drain-complete": "drain-complete", "DrainComplete": "drain-complete", "MaintenanceComplete": "maintenance-complete", "Draining": "Draining", "Flashed": "",
	} {
		if e, known := Lookup(NodeState, code); e.Code != want || known != (want != "") {
			t.Errorf("%s: %q, %t", code, e.Code, known)
		}
	}
	if _, known := Lookup(Blocker, "DrainComplete"); known {
		t.Error("a state is a blocker")
	}
}

func TestTheReferenceHasAnAnchorForEachCode(t *testing.T) {
	page, err := os.ReadFile("../../" + PagePath)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Entries() {
		if heading := "\n## " + e.Code + "\n"; !strings.Contains(string(page), heading) || strings.ContainsAny(Anchor(e.Code), " A") {
			t.Errorf("%s has no heading %q: make generate", PagePath, strings.TrimSpace(heading))
		}
		if !strings.Contains(string(page), e.Means) {
			t.Errorf("%s does not say what %s means in %s: make generate", PagePath, e.Code, e.Place)
		}
	}
}

func TestAMessageSaysWhatHelpsOnce(t *testing.T) {
	once := Advised(Blocker, "RuleInvalid", "rule shop/x cannot be understood")
	if want := "rule shop/x cannot be understood; correct the rule, or delete it"; once != want {
		t.Errorf("got %q, want %q", once, want)
	}
	if twice := Advised(Blocker, "RuleInvalid", once); twice != once {
		t.Errorf("got %q the second time", twice)
	}
	if got := Advised(Blocker, "SomebodyElses", "words"); got != "words" {
		t.Errorf("got %q for a code that is not ours", got)
	}
}
