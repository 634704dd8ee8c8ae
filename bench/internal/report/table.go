// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Table is a table in Markdown.
type Table struct{ text strings.Builder }

// NewTable returns a table with a header.
func NewTable(header ...string) *Table {
	t := &Table{}
	t.Row(header...)
	t.text.WriteString("|" + strings.Repeat("---|", len(header)) + "\n")
	return t
}

// Row adds a row.
func (t *Table) Row(cells ...string) { fmt.Fprintf(&t.text, "| %s |\n", strings.Join(cells, " | ")) }

// String returns the table.
func (t *Table) String() string { return t.text.String() }

var english = message.NewPrinter(language.English)

// Count formats a number, with commas between thousands.
func Count(n int) string { return english.Sprintf("%d", n) }

// Number formats a number with the digits that it is known to.
func Number(x float64) string {
	const nothing, little, hundred = 1e-4, .995, 100
	switch size := max(x, -x); {
	case size < nothing:
		return "0"
	case size < little:
		return fmt.Sprintf("%.2g", x)
	case size < hundred:
		return fmt.Sprintf("%.1f", x)
	default:
		return english.Sprintf("%.0f", x)
	}
}

// MiB formats a size that is given in KiB.
func MiB(kib int) string { return fmt.Sprintf("%.0f MiB", float64(kib)/1024) }

// Kept reports whether Slipway kept its invariants.
func Kept(violations []string) string {
	if len(violations) > 0 {
		return fmt.Sprintf("The audit log shows %d violations.", len(violations))
	}
	return "The audit log shows no violation."
}

// Show writes a text into a page if one is given, and to out otherwise.
func Show(out io.Writer, page, name, text string) error {
	if page == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	return Insert(page, name, text)
}
