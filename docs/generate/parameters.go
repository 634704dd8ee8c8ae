// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// parametersFile has DrainParameters, which is embedded in events and so has no CRD.
const parametersFile = "api/slipway/v1alpha1/drainparameters_types.go"

// writeParameters writes the fields of DrainParameters, from their doc comments.
func writeParameters(page *strings.Builder) {
	file, err := parser.ParseFile(token.NewFileSet(), parametersFile, nil, parser.ParseComments)
	if err != nil {
		fail(err)
	}
	types := map[string]*ast.StructType{}
	docs, values := map[string]string{}, map[string]string{}
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			docs[t.Name.Name] = sayings(general.Doc)
			values[t.Name.Name] = enum(general.Doc)
			if s, ok := t.Type.(*ast.StructType); ok {
				types[t.Name.Name] = s
			}
		}
	}
	const root = "DrainParameters"
	if types[root] == nil {
		fail(fmt.Errorf("there is no %s in %s", root, parametersFile))
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\nIn `spec.parameters` of a LifecycleEvent, with `apiVersion: slipway.dev/v1alpha1` and `kind: %s`.\n", root, docs[root], root)
	page.WriteString(tableHead)
	writeStruct(page, types, values, "", types[root])
}

func writeStruct(page *strings.Builder, types map[string]*ast.StructType, values map[string]string, path string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		name := jsonName(field)
		if name == "" {
			continue
		}
		text, inner := goType(field.Type)
		nested, isStruct := types[inner]
		switch {
		case isStruct:
			text = strings.Replace(text, inner, "object", 1)
		case values[inner] != "":
			text = strings.Replace(text, inner, values[inner], 1)
		}
		shown := "`" + path + name + "`"
		if strings.Contains(field.Doc.Text(), "+required") {
			shown = "**" + shown + "**"
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", shown, cell(text), cell(sayings(field.Doc)))
		if isStruct {
			if strings.HasPrefix(text, "list of") {
				name += "[]"
			}
			writeStruct(page, types, values, path+name+".", nested)
		}
	}
}

// jsonName returns the name of a field in JSON, or an empty one for an inlined struct.
func jsonName(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
	return name
}

// goType returns the displayed type, and its name in Go.
func goType(of ast.Expr) (text, inner string) {
	switch of := of.(type) {
	case *ast.StarExpr:
		return goType(of.X)
	case *ast.ArrayType:
		text, inner = goType(of.Elt)
		return "list of " + text, inner
	case *ast.SelectorExpr:
		return strings.ToLower(strings.TrimPrefix(of.Sel.Name, "Label")), of.Sel.Name
	case *ast.Ident:
		switch of.Name {
		case "bool":
			return "boolean", of.Name
		case "int32", "int64":
			return "integer", of.Name
		default:
			return of.Name, of.Name
		}
	default:
		return "object", ""
	}
}

// enum are the values of a type that its marker lists, or nothing.
func enum(doc *ast.CommentGroup) string {
	const marker = "+kubebuilder:validation:Enum="
	for line := range strings.Lines(doc.Text()) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), marker); ok {
			return "`" + strings.ReplaceAll(list, ";", "`, `") + "`"
		}
	}
	return ""
}

// sayings are a doc comment without markers.
func sayings(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(doc.Text()) {
		if !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
		}
	}
	return prose(strings.Join(lines, " "))
}
