// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (m *mutator) statement(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		m.without(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && !isDiscard(n) {
			m.without(n)
		}
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE || n.Tok == token.BREAK {
			m.without(n)
		}
	case *ast.ReturnStmt:
		m.returned(n)
	case *ast.RangeStmt:
		m.leaveAtOnce(n, n.Body.Lbrace, "no rounds of: for "+m.text(n.X))
	case *ast.CaseClause:
		// Of a switch without a tag, the condition never holds: that is the same.
		if len(n.Body) > 0 && !leaves(n.Body[len(n.Body)-1]) && (n.List == nil || !m.isTagless(2)) {
			m.leaveAtOnce(n, n.Colon, "does nothing: "+m.caseName(n))
		}
	}
}

// without has the statement not be there.
func (m *mutator) without(n ast.Stmt) {
	switch p := m.parent().(type) {
	case *ast.BlockStmt, *ast.CaseClause:
	case *ast.CommClause:
		if p.Comm == n {
			return
		}
	default:
		return // the head of a loop, or of a condition
	}
	if call, ok := n.(*ast.ExprStmt); ok && isPanic(call.X) {
		return
	}
	id := m.add(m.position(n), "is not there: "+m.text(n))
	m.wrap(fmt.Sprintf("if !mutOn(%d) { ", id), " }")
}

// returned returns nothing for all results at once, where one call gives them.
func (m *mutator) returned(n *ast.ReturnStmt) {
	results := m.results()
	if results == nil || len(n.Results) != 1 || results.Len() < 2 {
		return
	}
	zeros := make([]string, results.Len())
	for i := range zeros {
		name, ok := m.typeName(results.At(i).Type())
		if !ok {
			return
		}
		zeros[i] = "*new(" + name + ")"
	}
	id := m.add(m.position(n), "returns nothing for: "+m.text(n.Results[0]))
	m.wrap(fmt.Sprintf("if mutOn(%d) { return %s }; ", id, strings.Join(zeros, ", ")), "")
}

func (m *mutator) leaveAtOnce(n ast.Stmt, after token.Pos, what string) {
	id := m.add(m.position(n), what)
	m.edits.insert(m.offset(after)+1, fmt.Sprintf(" if mutOn(%d) { break };", id))
}

func (m *mutator) caseName(n *ast.CaseClause) string {
	if n.List == nil {
		return "default"
	}
	names := make([]string, len(n.List))
	for i, e := range n.List {
		names[i] = m.text(e)
	}
	return "case " + strings.Join(names, ", ")
}

// leaves says whether nothing after the statement is reached: there, other mistakes do.
func leaves(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		return isPanic(s.X)
	}
	return false
}

func isPanic(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

// isDiscard says whether the assignment is to _ only.
func isDiscard(n *ast.AssignStmt) bool {
	for _, left := range n.Lhs {
		if name, ok := left.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// typeName is how to write the type in the file: imports of ours have names that nothing
// in the file hides.
func (m *mutator) typeName(t types.Type) (string, bool) {
	nameable := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == m.pkg {
			return ""
		}
		if m.aliases[p.Path()] == "" {
			m.aliases[p.Path()] = fmt.Sprintf("mutimport%d", len(m.aliases))
		}
		return m.aliases[p.Path()]
	})
	if basic, ok := t.(*types.Basic); ok && basic.Info()&types.IsUntyped != 0 {
		nameable = false
	}
	return name, nameable
}
