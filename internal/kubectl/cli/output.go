// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// Format is a format of the output, as -o has it. Human is the zero value.
type Format string

// The formats. Template stands for the formats of kubectl with an argument, such as
// jsonpath=..., custom-columns=... and go-template=...
const (
	Human    Format = ""
	Wide     Format = "wide"
	Name     Format = "name"
	JSON     Format = "json"
	YAML     Format = "yaml"
	Template Format = "template"
)

// templates are the formats of [Template] in kubectl.
var templates = slices.DeleteFunc(
	slices.Concat(get.NewCustomColumnsPrintFlags().AllowedFormats(), genericclioptions.NewKubeTemplatePrintFlags().AllowedFormats()),
	func(name string) bool { return strings.HasPrefix(name, "template") }) // old names

// Output is the flag -o of a command.
type Output struct {
	Format
	all     []Format
	text    string
	printer printers.ResourcePrinter
}

// AddOutput adds the flag -o with these formats and the templates of kubectl.
func AddOutput(flags *pflag.FlagSet, all ...Format) *Output {
	o := &Output{all: all}
	flags.VarP(o, "output", "o", "output format: "+o.choices()+", or as in kubectl jsonpath=..., custom-columns=..., go-template=..., or one of these from a file: jsonpath-file=... (default: text)")
	return o
}

// AddShow adds -o of a command that shows something once.
func AddShow(flags *pflag.FlagSet) *Output { return AddOutput(flags, JSON, YAML, Name, Wide) }

func (o *Output) choices() string {
	var texts []string
	for _, f := range o.all {
		texts = append(texts, string(f))
	}
	return strings.Join(texts, ", ")
}

// Set takes a format of the command, or a template.
func (o *Output) Set(text string) (err error) {
	o.text = text
	kind, _, _ := strings.Cut(text, "=")
	switch {
	case slices.Contains(o.all, Format(text)):
		o.Format = Format(text)
		return nil
	case !slices.Contains(templates, kind):
		return fmt.Errorf("there is no format %q here; there are: %s, %s", text, o.choices(), strings.Join(templates, ", "))
	case strings.HasPrefix(kind, "custom-columns"):
		o.printer, err = get.NewCustomColumnsPrintFlags().ToPrinter(text)
	default:
		o.printer, err = genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(text)
	}
	o.Format = Template
	return err
}

func (o *Output) String() string { return o.text }

// Type is the name of the value in help.
func (o *Output) Type() string { return "format" }

// Streams returns a usage error where a command prints changes, which this format cannot.
func (o *Output) Streams(wrong string) error {
	if o.Format == YAML || o.Format == Template {
		return Usagef("-o %s %s; -o json prints one JSON object for each change", o.text, wrong)
	}
	return nil
}

// View is something to show, in each format.
type View struct {
	// Value is for programs. The rows of a list are in a [List].
	Value any
	// Names are for -o name.
	Names []string
	// Text returns the output without -o, or with -o wide.
	Text func(style ui.Style, wide bool) string
}

// Print prints a view in the format of -o.
func (t *Tool) Print(o *Output, v View) error {
	switch o.Format {
	case JSON, YAML:
		return Encode(t.Out, o.Format, v.Value)
	case Template:
		object, err := objectOf(v.Value)
		if err != nil {
			return err
		}
		return o.printer.PrintObj(object, t.Out)
	case Name:
		for _, name := range slices.Compact(v.Names) {
			t.Sayf("%s\n", ui.Clean(name))
		}
		return nil
	default:
		_, err := io.WriteString(t.Out, v.Text(t.Style(), o.Format == Wide))
		return err
	}
}

// List returns rows as kubectl prints several objects: a List with items.
func List[R any](rows []R) any {
	if rows == nil {
		rows = []R{}
	}
	return list[R]{APIVersion: "v1", Kind: "List", Items: rows}
}

// OneOrList returns the only row as an object, and several rows as a List.
func OneOrList[R any](rows []R) any {
	if len(rows) == 1 {
		return rows[0]
	}
	return List(rows)
}

type list[R any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []R    `json:"items"`
}

// objectOf returns a value as kubectl's printers take it. They print the items of a list one by
// one where that makes a difference.
func objectOf(value any) (runtime.Object, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if object.GetKind() == "List" && object.IsList() {
		return object.ToList()
	}
	return object, nil
}

// Encode prints a value as JSON or YAML.
func Encode(out io.Writer, f Format, value any) error {
	if f == YAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode as YAML: %w", err)
		}
		_, err = out.Write(text)
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "    ")
	return encoder.Encode(value)
}
