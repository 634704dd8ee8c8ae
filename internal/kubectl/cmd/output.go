// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// format is what -o says. Empty: for people.
type format string

// The formats. Not every command has all of them.
const (
	people   format = ""
	wide     format = "wide"
	names    format = "name"
	jsonText format = "json"
	yamlText format = "yaml"
)

// outputFlag is -o of a command that has these formats, besides that for people.
type outputFlag struct {
	format
	all []format
}

func addOutput(flags *pflag.FlagSet, all ...format) *outputFlag {
	o := &outputFlag{all: all}
	flags.VarP(o, "output", "o", "output format: "+o.choices()+" (default: for people)")
	return o
}

func (o *outputFlag) choices() string {
	var texts []string
	for _, f := range o.all {
		texts = append(texts, string(f))
	}
	return strings.Join(texts, ", ")
}

// Set takes a format that the command has.
func (o *outputFlag) Set(text string) error {
	if !slices.Contains(o.all, format(text)) {
		return fmt.Errorf("there is no format %q here; there is: %s", text, o.choices())
	}
	o.format = format(text)
	return nil
}

func (o *outputFlag) String() string { return string(o.format) }

// Type is what help calls it.
func (o *outputFlag) Type() string { return "format" }

// encode prints a value for programs, as JSON or YAML.
func encode(out io.Writer, f format, value any) error {
	if f == yamlText {
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
