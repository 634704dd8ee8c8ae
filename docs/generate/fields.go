// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/config"
)

const fieldsHead = `<!-- Written by docs/generate, from config/crd and the types in api/. make generate -->

# Fields

This page lists all fields of requests and of their status. A field in bold is required. LifecycleEvent and LifecycleTransition are in
` + "`lifecycle.k8s.io/v1alpha1`" + `, or in ` + "`slm.slipway.dev/v1alpha1`" + ` if the server serves that group itself; ` + "`kubectl slipway version`" + `
shows the group.
`

// fields is the reference of all kinds.
func fields() string {
	var page strings.Builder
	page.WriteString(fieldsHead)
	for _, dir := range []string{"crd/" + lifecyclev1alpha1.GroupKubernetes, "crd/slipway.dev"} {
		names, err := fs.Glob(config.Files, dir+"/*.yaml")
		if err != nil {
			fail(err)
		}
		for _, name := range names {
			writeKind(&page, name)
		}
	}
	writeParameters(&page)
	return page.String()
}

func writeKind(page *strings.Builder, name string) {
	text, err := fs.ReadFile(config.Files, name)
	if err != nil {
		fail(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		fail(fmt.Errorf("read %s: %w", name, err))
	}
	version := crd.Spec.Versions[0]
	schema := version.Schema.OpenAPIV3Schema
	scope := "cluster-scoped"
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		scope = "namespaced"
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n`%s/%s`, %s; short: `%s`.\n", crd.Spec.Names.Kind, prose(schema.Description),
		crd.Spec.Group, version.Name, scope, strings.Join(crd.Spec.Names.ShortNames, "`, `"))
	page.WriteString(tableHead)
	for _, part := range []string{"spec", "status"} {
		if properties, ok := schema.Properties[part]; ok {
			writeFields(page, part, properties)
		}
	}
}

const tableHead = "\n| field | type | meaning |\n|---|---|---|\n"

// writeFields writes a row for each field below path.
func writeFields(page *strings.Builder, path string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		full := path + "." + name
		shown := "`" + full + "`"
		if slices.Contains(schema.Required, name) {
			shown = "**" + shown + "**"
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", shown, cell(typeOf(field)), cell(strings.TrimSpace(prose(field.Description)+" "+limits(field))))
		switch {
		case field.Items != nil && field.Items.Schema != nil && !known(field):
			writeFields(page, full+"[]", *field.Items.Schema)
		case !known(field):
			writeFields(page, full, field)
		}
	}
}

// known tells a type of Kubernetes itself, whose fields are described elsewhere.
func known(field apiextensionsv1.JSONSchemaProps) bool {
	_, selector := field.Properties["matchExpressions"]
	_, nodeSelector := field.Properties["nodeSelectorTerms"]
	return selector || nodeSelector
}

func typeOf(field apiextensionsv1.JSONSchemaProps) string {
	switch {
	case known(field):
		return "selector"
	case field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(*field.Items.Schema)
	case field.Format == "date-time":
		return "time"
	case len(field.Enum) > 0:
		var values []string
		for _, v := range field.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		return strings.Join(values, ", ")
	default:
		return field.Type
	}
}

// limits lists the server's checks in addition to the type.
func limits(field apiextensionsv1.JSONSchemaProps) string {
	var all []string
	add := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	if field.Minimum != nil {
		add("at least %v", *field.Minimum)
	}
	if field.Maximum != nil {
		add("at most %v", *field.Maximum)
	}
	if field.MaxLength != nil {
		add("at most %d characters", *field.MaxLength)
	}
	if field.MaxItems != nil {
		add("at most %d entries", *field.MaxItems)
	}
	for _, rule := range field.XValidations {
		if rule.Message != "" {
			add("%s", rule.Message)
		}
	}
	if field.Default != nil {
		add("default `%s`", strings.Trim(string(field.Default.Raw), `"`))
	}
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, "; ") + ")"
}

// link is a link to a Go name in a doc comment, and no index.
var link = regexp.MustCompile(`(^|[ (])\[([^\]]+)\]`)

// prose is a doc comment as a paragraph, without the brackets of links to Go names.
func prose(text string) string {
	return link.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1$2")
}
