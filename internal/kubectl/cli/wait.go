// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Waiting are the flags of a command that sends a request: whether it waits for the end, how
// long, and what it prints.
type Waiting struct {
	Wait    bool
	Timeout time.Duration
	DryRun  DryRun
	*Output
}

// AddWaiting adds --wait, with its usage, and --timeout.
func (w *Waiting) AddWaiting(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&w.Wait, "wait", true, usage)
	flags.DurationVar(&w.Timeout, "timeout", 0, "how long to wait; 0: without limit")
}

// AddDryRun adds --dry-run.
func (w *Waiting) AddDryRun(flags *pflag.FlagSet) {
	w.DryRun = DryRunNone
	flags.Var(&w.DryRun, "dry-run", "none, client (print what would be sent) or server (send it, without any effect)")
	flags.Lookup("dry-run").NoOptDefVal = string(DryRunClient)
}

// Follows says whether the command waits for the end.
func (w *Waiting) Follows() bool { return w.Wait && (w.DryRun == DryRunNone || w.DryRun == "") }

// Check returns a usage error where the flags contradict each other.
func (w *Waiting) Check() error {
	if w.Timeout < 0 {
		return Usagef("--timeout: %s is not a time to wait; 0 is without limit", w.Timeout)
	}
	if w.Follows() {
		return w.Streams("goes with --dry-run or --wait=false")
	}
	return nil
}

// DryRun is kubectl's --dry-run.
type DryRun string

// The values of --dry-run.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// Set takes kubectl's values, also the old ones.
func (d *DryRun) Set(text string) error {
	switch text {
	case string(DryRunNone), "false":
		*d = DryRunNone
	case string(DryRunClient), "true":
		*d = DryRunClient
	case string(DryRunServer):
		*d = DryRunServer
	default:
		return fmt.Errorf("%q is none of: none, client, server", text)
	}
	return nil
}

func (d *DryRun) String() string { return string(*d) }

// Type is the name of the value in help.
func (d *DryRun) Type() string { return "string" }

// Suffix is what kubectl appends to what it has not done.
func (d DryRun) Suffix() string {
	switch d {
	case DryRunClient:
		return " (dry run)"
	case DryRunServer:
		return " (server dry run)"
	default:
		return ""
	}
}
