// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// source is a package as it is: what is mutated.
type source struct {
	path, dir, name string
	files           []file
	fset            *token.FileSet
	pkg             *types.Package
	info            *types.Info
	imports         types.Importer
	rapid           bool // whether its tests have the flags of pgregory.net/rapid
}

type file struct {
	path      string
	text      []byte
	tree      *ast.File
	generated bool // such code is not mutated
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
	TestImports, XTestImports     []string
	DepOnly                       bool
}

// load reads the one package of that pattern, and the types of what it imports.
func load(ctx context.Context, pattern string) (*source, error) {
	packages, err := list(ctx, pattern)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own []listed
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			own = append(own, p)
		}
	}
	if len(own) != 1 {
		return nil, fmt.Errorf("package %s: %d packages are meant, not one", pattern, len(own))
	}
	p := own[0]
	s := &source{path: p.ImportPath, dir: p.Dir, name: p.Name, fset: token.NewFileSet()}
	s.rapid = slices.Contains(append(p.TestImports, p.XTestImports...), "pgregory.net/rapid")
	if err := s.parse(p.GoFiles); err != nil {
		return nil, err
	}
	return s, s.check(exports)
}

func list(ctx context.Context, pattern string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json", pattern)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list package %s: %w", pattern, err)
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("list package %s: %w", pattern, err)
		}
		all = append(all, p)
	}
}

func (s *source) parse(names []string) error {
	for _, name := range names {
		path := filepath.Join(s.dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read source: %w", err)
		}
		tree, err := parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse source: %w", err)
		}
		s.files = append(s.files, file{path: path, text: text, tree: tree, generated: ast.IsGenerated(tree)})
	}
	return nil
}

// check finds the types, and keeps the importer for the mutated source.
func (s *source) check(exports map[string]string) error {
	s.imports = importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		export, ok := exports[path]
		if !ok || export == "" {
			return nil, fmt.Errorf("import %s: go list has no types of it", path)
		}
		return os.Open(export)
	})
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	trees := make([]*ast.File, len(s.files))
	for i, f := range s.files {
		trees[i] = f.tree
	}
	pkg, err := (&types.Config{Importer: s.imports}).Check(s.path, s.fset, trees, s.info)
	if err != nil {
		return fmt.Errorf("find types of %s: %w", s.path, err)
	}
	s.pkg = pkg
	return nil
}
