// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd"
)

const pluginHead = `<!-- Written by docs/generate, from internal/kubectl/cmd. make generate -->

# kubectl slipway

`

const pluginOutput = `
## Output

Commands that show or list objects print text, or, with -o, the formats of kubectl: json, yaml, name, wide,
jsonpath=..., custom-columns=..., go-template=..., and with -file also from a file. A list is an object of kind List
with its rows in .items. The fields of the rows are stable, and their states are the words of the text. Commands that
follow something print one JSON object for each change with -o json.

## Exit codes

`

// plugin is the reference of kubectl slipway: each command with its flags.
func plugin() string {
	var page strings.Builder
	page.WriteString(pluginHead)
	root := cmd.NewCommand()
	about, _, _ := strings.Cut(root.Long, cli.ExitCodes)
	fmt.Fprintf(&page, "%s\n\n", strings.TrimSpace(about))
	commands := commandsOf(root)
	for _, c := range commands {
		name := nameOf(c)
		indent := strings.Repeat("  ", strings.Count(name, " "))
		fmt.Fprintf(&page, "%s* [%s](#%s): %s\n", indent, name, strings.ReplaceAll(name, " ", "-"), c.Short)
	}
	page.WriteString("\nAll commands accept kubectl's flags for the cluster and the user (`-h` describes them): ")
	var shared []string
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { shared = append(shared, "`--"+f.Name+"`") })
	page.WriteString(strings.Join(shared, ", ") + ".\n")
	page.WriteString(pluginOutput + "```text\n" + cli.ExitCodes + "\n```\n")
	for _, c := range commands {
		writeCommand(&page, c)
	}
	return page.String()
}

// commandsOf are the commands in a command, each followed by those in it.
func commandsOf(parent *cobra.Command) (all []*cobra.Command) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" && c.Name() != "help" {
			all = append(append(all, c), commandsOf(c)...)
		}
	}
	return all
}

// nameOf is a command as it is typed after kubectl slipway: maintenance status.
func nameOf(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().CommandPath()+" ")
}

func writeCommand(page *strings.Builder, c *cobra.Command) {
	level := strings.Repeat("#", 2+strings.Count(nameOf(c), " "))
	fmt.Fprintf(page, "\n%s %s\n\n%s\n\n```text\n%s\n```\n", level, nameOf(c), cmp.Or(c.Long, c.Short+"."), strings.Replace(c.UseLine(), "kubectl-slipway", "kubectl slipway", 1))
	if c.Example != "" {
		// Not sh: a test runs those blocks of docs.
		fmt.Fprintf(page, "\n```text\n%s\n```\n", outdented(c.Example))
	}
	if !c.LocalNonPersistentFlags().HasAvailableFlags() {
		return
	}
	page.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", name, value, cell(f.Usage))
	})
}

// outdented is an example as it is typed.
func outdented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// cell is a text as it can stand in a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

const flagsHead = `<!-- Written by docs/generate, from the help of the programs. make generate -->

# Flags of the components

`

// flags is the reference of the programs that run in the cluster: their help.
func flags() string {
	var page strings.Builder
	page.WriteString(flagsHead)
	for _, args := range [][]string{{"node-agent"}, {"controller"}, {"drain-driver", "kubelet-plugin"}, {"slipway-host"}} {
		fmt.Fprintf(&page, "## %s\n\n```text\n%s\n```\n\n", strings.Join(args, " "), help(args))
	}
	return strings.TrimSpace(page.String()) + "\n"
}

// help returns the help of a program, which cannot be imported.
func help(args []string) string {
	command := exec.CommandContext(context.Background(), "go", append([]string{"run", "./cmd/" + args[0]}, append(args[1:], "--help")...)...)
	var trouble bytes.Buffer
	command.Stderr = &trouble
	out, err := command.Output()
	if err != nil {
		fail(fmt.Errorf("ask %s for its flags: %w\n%s", args[0], err, trouble.String()))
	}
	return strings.TrimSpace(string(out))
}
