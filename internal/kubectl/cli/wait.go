// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Waiting holds the flags of a command that sends a request: whether and how long it waits for the
// end, and what it prints.
type Waiting struct {
	Wait    bool
	Timeout time.Duration
	DryRun  DryRun
	*Output
}

// AddWaiting adds --wait, with its usage, and --timeout.
func (w *Waiting) AddWaiting(command *cobra.Command, usage string) {
	command.Flags().BoolVar(&w.Wait, "wait", true, usage)
	command.Flags().DurationVar(&w.Timeout, "timeout", 0, "how long to wait; 0: without limit")
}

// Follows reports whether the command waits for the end.
func (w *Waiting) Follows() bool { return w.Wait && (w.DryRun == DryRunNone || w.DryRun == "") }

// Check returns a usage error for flags that contradict each other.
func (w *Waiting) Check() error {
	if w.Timeout < 0 {
		return Usagef("--timeout: %s is negative; 0 means without limit", w.Timeout)
	}
	if w.Output != nil && w.Follows() {
		return w.Streams("goes with --dry-run or --wait=false")
	}
	return nil
}

// DryRun is the value of --dry-run.
type DryRun string

// The values of --dry-run.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// AddDryRun adds --dry-run, as kubectl has it.
func (w *Waiting) AddDryRun(command *cobra.Command) {
	w.DryRun = DryRunNone
	Enum(command, &w.DryRun, "dry-run", "none, client (print the request) or server (send it, without any effect)", DryRunNone, DryRunClient, DryRunServer)
	command.Flags().Lookup("dry-run").NoOptDefVal = string(DryRunClient)
}

// Suffix returns the end of kubectl's messages about a dry run.
func (d DryRun) Suffix() string {
	return map[DryRun]string{DryRunClient: " (dry run)", DryRunServer: " (server dry run)"}[d]
}

// Enum adds a flag for one of several words, in upper or lower case, and completes them.
func Enum[T ~string](command *cobra.Command, into *T, name, usage string, words ...T) {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = strings.ToLower(string(word))
	}
	command.Flags().Func(name, usage, func(text string) error {
		for _, word := range words {
			if strings.EqualFold(string(word), text) {
				*into = word
				return nil
			}
		}
		return fmt.Errorf("%q is none of: %s", text, strings.Join(texts, ", "))
	})
	_ = command.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(texts, cobra.ShellCompDirectiveNoFileComp))
}
