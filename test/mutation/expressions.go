// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

func (m *mutator) expression(n ast.Expr) {
	m.condition(n)
	m.result(n)
	m.field(n)
	m.number(n)
	switch n := n.(type) {
	case *ast.BinaryExpr:
		m.operator(n)
	case *ast.CallExpr:
		m.order(n)
	}
}

// condition has what decides be always true, or never.
func (m *mutator) condition(n ast.Expr) {
	if !m.isBool(n) {
		return
	}
	always := func() { m.call("mutBool", n, "always true: "+m.text(n), "true") }
	never := func() { m.call("mutBool", n, "never true: "+m.text(n), "false") }
	own, _ := n.(*ast.BinaryExpr)
	either, both := own != nil && own.Op == token.LOR, own != nil && own.Op == token.LAND
	switch p := m.parent().(type) {
	case *ast.IfStmt:
		if !both {
			always()
		}
		if !either {
			never()
		}
	case *ast.ForStmt:
		if !either {
			never()
		}
	case *ast.CaseClause:
		if !m.isTagless(3) {
			return
		}
		if !both {
			always()
		}
		if !either {
			never()
		}
	case *ast.BinaryExpr:
		switch {
		case p.Op == token.LAND && !both:
			m.call("mutBool", n, "does not count: "+m.text(n), "true")
		case p.Op == token.LOR && !either:
			m.call("mutBool", n, "does not count: "+m.text(n), "false")
		}
	case *ast.AssignStmt, *ast.CallExpr:
		if own != nil && isComparison(own.Op) || m.info.Types[n].Value != nil {
			m.call("mutNot", n, "the opposite of: "+m.text(n))
		}
	}
}

func isComparison(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	default:
		return false
	}
}

// isTagless says whether what is that far above is a switch without a tag.
func (m *mutator) isTagless(above int) bool {
	s, ok := m.above(above).(*ast.SwitchStmt)
	return ok && s.Tag == nil
}

// result returns the zero value, or the opposite.
func (m *mutator) result(n ast.Expr) {
	statement, ok := m.parent().(*ast.ReturnStmt)
	if !ok || m.isZero(n) {
		return
	}
	results := m.results()
	if results == nil || results.Len() != len(statement.Results) {
		return // the statement has it
	}
	i := 0
	for statement.Results[i] != n {
		i++
	}
	switch name, nameable := m.typeName(results.At(i).Type()); {
	case m.isBool(n):
		m.call("mutNot", n, "returns the opposite of: "+m.text(n))
	case nameable:
		m.call("mutZero["+name+"]", n, "returns nothing for: "+m.text(n))
	}
}

// results are those of the function that we are in.
func (m *mutator) results() *types.Tuple {
	for i := 1; ; i++ { // what is returned may be a function itself
		switch f := m.above(i).(type) {
		case nil:
			return nil
		case *ast.FuncDecl:
			return m.info.Defs[f.Name].Type().(*types.Signature).Results() //nolint:forcetypeassert // a function has one
		case *ast.FuncLit:
			return m.info.Types[f].Type.(*types.Signature).Results() //nolint:forcetypeassert // a function has one
		}
	}
}

// field is not set.
func (m *mutator) field(n ast.Expr) {
	pair, ok := m.parent().(*ast.KeyValueExpr)
	if !ok || pair.Value != n || m.isZero(n) {
		return
	}
	literal, ok := m.above(2).(*ast.CompositeLit)
	if !ok {
		return
	}
	t := m.info.TypeOf(literal)
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return
	}
	key, ok := pair.Key.(*ast.Ident)
	if !ok {
		return
	}
	if name, ok := m.typeName(m.info.Uses[key].Type()); ok {
		m.call("mutZero["+name+"]", n, "is not set: "+m.text(pair))
	}
}

// number is another one. What is written as a literal counts, and is one with what is
// computed of it.
func (m *mutator) number(n ast.Expr) {
	if !m.isConstant(n) || !m.hasLiteral(n) {
		return
	}
	switch p := m.parent().(type) {
	case *ast.ReturnStmt, *ast.KeyValueExpr:
		return // it is left out there
	case *ast.CaseClause, *ast.CompositeLit:
		return
	case ast.Expr:
		if m.isConstant(p) {
			return
		}
	}
	name, ok := m.typeName(m.info.TypeOf(n))
	if !ok {
		return
	}
	if isDuration(m.info.TypeOf(n)) {
		m.call("mutDouble["+name+"]", n, "twice: "+m.text(n))
		return
	}
	m.call("mutMore["+name+"]", n, "one more: "+m.text(n))
}

func (m *mutator) isConstant(n ast.Expr) bool {
	v := m.info.Types[n]
	if v.Value == nil || v.Type == nil {
		return false
	}
	basic, ok := v.Type.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

func (m *mutator) hasLiteral(n ast.Expr) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		found = found || ok && literal.Kind == token.INT
		return true
	})
	return found
}

// operator is another one.
func (m *mutator) operator(n *ast.BinaryExpr) {
	if m.info.Types[n].Value != nil {
		return
	}
	names := map[token.Token]string{
		token.LSS: "mutLess", token.LEQ: "mutLessEqual", token.GTR: "mutGreater", token.GEQ: "mutGreaterEqual",
	}
	what := "the limit belongs to the other side: "
	if m.isNumber(n) {
		names = map[token.Token]string{token.ADD: "mutAdd", token.SUB: "mutSub", token.MUL: "mutMul", token.QUO: "mutQuo"}
		what = "the opposite operator: "
	}
	function := names[n.Op]
	if function == "" {
		return
	}
	m.call(function, n, what+m.text(n))
	m.edits.replace(m.offset(n.OpPos), n.Op.String(), ",")
}

// order counts a time as before or after that is the same.
func (m *mutator) order(n *ast.CallExpr) {
	selector, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) != 1 || selector.Sel.Name != "Before" && selector.Sel.Name != "After" {
		return
	}
	method, ok := m.info.Uses[selector.Sel].(*types.Func)
	if !ok || method.Pkg() == nil || method.Pkg().Path() != "time" && method.Pkg().Name() != "v1" {
		return
	}
	id := m.add(m.position(n), "also at the same time: "+m.text(n))
	left := "(" + m.raw(selector.X) + ")"
	if t := m.info.TypeOf(selector.X).String(); method.Pkg().Path() == "time" && t != "time.Time" {
		left += ".Time" // of a metav1.Time, which has an Equal of its own
	}
	tie := fmt.Sprintf(", func() bool { return %s.Equal(%s) })", left, m.raw(n.Args[0]))
	m.wrap(fmt.Sprintf("mutTie(%d, ", id), tie)
}

func (m *mutator) isBool(n ast.Expr) bool {
	v := m.info.Types[n]
	if !v.IsValue() || v.Type == nil {
		return false
	}
	basic, ok := v.Type.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsBoolean != 0
}

func (m *mutator) isNumber(n ast.Expr) bool {
	t := m.info.TypeOf(n)
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// isZero says whether n is written as what there would be without it.
func (m *mutator) isZero(n ast.Expr) bool {
	v := m.info.Types[n]
	if v.IsNil() {
		return true
	}
	if literal, ok := n.(*ast.CompositeLit); ok {
		_, isStruct := v.Type.Underlying().(*types.Struct)
		return isStruct && len(literal.Elts) == 0
	}
	if v.Value == nil || m.isBool(n) {
		return false
	}
	switch v.Value.Kind() {
	case constant.String:
		return constant.StringVal(v.Value) == ""
	case constant.Int, constant.Float:
		return constant.Sign(v.Value) == 0
	default:
		return false
	}
}
