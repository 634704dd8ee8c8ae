// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one mistake.
type mutant struct {
	id   int
	at   token.Position
	what string // is wrong, with the source that it is about
}

// String is where it is, and what.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.at.Filename, m.at.Line, m.at.Column, m.what)
}

// mutator walks one file, and notes what to write into it. All that it does is to insert,
// so that lines stay what they are.
type mutator struct {
	*source
	file    file
	stack   []ast.Node
	closing [][]string // for each node of the stack
	edits   edits
	aliases map[string]string // path → name of an import of ours
	add     func(at token.Position, what string) int
}

// mutate gives the text of each file with all mistakes in it, and the mistakes.
func mutate(s *source) (map[string][]byte, []mutant) {
	var all []mutant
	texts := map[string][]byte{}
	for _, f := range s.files {
		if f.generated {
			continue
		}
		m := &mutator{source: s, file: f, aliases: map[string]string{}}
		m.add = func(at token.Position, what string) int {
			all = append(all, mutant{id: len(all) + 1, at: at, what: what})
			return len(all)
		}
		texts[f.path] = m.walk()
	}
	return texts, all
}

func (m *mutator) walk() []byte {
	ast.Inspect(m.file.tree, func(n ast.Node) bool {
		if n == nil {
			m.leave()
			return true
		}
		if m.isLeftOut(n) {
			return false
		}
		m.stack, m.closing = append(m.stack, n), append(m.closing, nil)
		m.enter(n)
		return true
	})
	imports := ""
	for _, path := range sortedKeys(m.aliases) {
		imports += fmt.Sprintf("; import %s %q", m.aliases[path], path)
	}
	m.edits.insert(m.offset(m.file.tree.Name.End()), imports)
	return m.edits.apply(m.file.text)
}

func (m *mutator) leave() {
	last := len(m.stack) - 1
	for _, text := range slices.Backward(m.closing[last]) {
		m.edits.insert(m.offset(m.stack[last].End()), text)
	}
	m.stack, m.closing = m.stack[:last], m.closing[:last]
}

// isLeftOut says that nothing in there is mutated: constants but durations, types, what is logged.
func (m *mutator) isLeftOut(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.IMPORT || n.Tok == token.TYPE || n.Tok == token.CONST && !m.areDurations(n)
	case *ast.ArrayType, *ast.FieldList, *ast.MapType, *ast.InterfaceType, *ast.StructType:
		return true
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		return ok && m.logs(call)
	case *ast.CallExpr: // what is reserved is for speed
		name, ok := n.Fun.(*ast.Ident)
		return ok && name.Name == "make"
	}
	return false
}

// enter notes the mistakes that can be made with n.
func (m *mutator) enter(n ast.Node) {
	switch n := n.(type) {
	case ast.Stmt:
		m.statement(n)
	case ast.Expr:
		m.expression(n)
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			m.edits.replace(m.offset(n.TokPos), "const", "var  ")
		}
	}
}

// parent is the node above that which was entered last.
func (m *mutator) parent() ast.Node { return m.above(1) }

func (m *mutator) above(n int) ast.Node {
	if i := len(m.stack) - 1 - n; i >= 0 {
		return m.stack[i]
	}
	return nil
}

// wrap puts text around the node that was entered last.
func (m *mutator) wrap(before, after string) {
	last := len(m.stack) - 1
	m.edits.insert(m.offset(m.stack[last].Pos()), before)
	m.closing[last] = append(m.closing[last], after)
}

// call has the node that was entered last go through a function that makes the mistake.
func (m *mutator) call(function string, n ast.Node, what string, further ...string) {
	id := m.add(m.position(n), what)
	m.wrap(fmt.Sprintf("%s(%d, %s", function, id, strings.Join(append(further, ""), ", ")), ")")
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) position(n ast.Node) token.Position { return m.fset.Position(n.Pos()) }

// text is the source of n, in one line, and not all of it where it is long.
func (m *mutator) text(n ast.Node) string {
	text := strings.Join(strings.Fields(m.raw(n)), " ")
	if len(text) > 60 {
		text = strings.TrimRight(text[:57], " ") + "..."
	}
	return text
}

func (m *mutator) raw(n ast.Node) string {
	return string(m.file.text[m.offset(n.Pos()):m.offset(n.End())])
}

// logs says whether the call writes a log.
func (m *mutator) logs(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || m.info.Uses[selector.Sel] == nil || m.info.Uses[selector.Sel].Pkg() == nil {
		return false
	}
	switch m.info.Uses[selector.Sel].Pkg().Path() {
	case "log/slog", "github.com/go-logr/logr", "k8s.io/klog/v2":
		return true
	}
	return false
}

func (m *mutator) areDurations(d *ast.GenDecl) bool {
	if len(m.stack) != 1 { // a constant within a function may be part of another one
		return false
	}
	for _, s := range d.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok || len(spec.Values) == 0 || spec.Type != nil || !isDuration(m.info.TypeOf(spec.Values[0])) {
			return false
		}
	}
	return true
}

func isDuration(t types.Type) bool { return t != nil && t.String() == "time.Duration" }
