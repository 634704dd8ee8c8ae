// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"

	"github.com/spf13/pflag"
)

// dryRun is kubectl's --dry-run.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

func addDryRun(flags *pflag.FlagSet) *dryRun {
	d := dryRunNone
	flags.Var(&d, "dry-run", "none, client (print what would be sent) or server (send it, without any effect)")
	flags.Lookup("dry-run").NoOptDefVal = string(dryRunClient)
	return &d
}

// Set takes kubectl's values, also the old ones.
func (d *dryRun) Set(text string) error {
	switch text {
	case string(dryRunNone), "false":
		*d = dryRunNone
	case string(dryRunClient), "true":
		*d = dryRunClient
	case string(dryRunServer):
		*d = dryRunServer
	default:
		return fmt.Errorf("%q is not none, client or server", text)
	}
	return nil
}

func (d *dryRun) String() string { return string(*d) }

// Type is what help calls it.
func (d *dryRun) Type() string { return "string" }

// suffix is what kubectl says after what it has not done.
func (d dryRun) suffix() string {
	switch d {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	default:
		return ""
	}
}
