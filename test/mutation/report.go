// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// report is what came out for one package.
type report struct {
	pattern  string
	coverage float64  // per cent of statements
	found    int      // mistakes that can be made
	left     []string // tests that were not asked
	results  []result
}

func (r report) count(is func(result) bool) int {
	n := 0
	for _, one := range r.results {
		if is(one) {
			n++
		}
	}
	return n
}

// write prints the table, and the survivors that nothing explains.
func write(w io.Writer, all []report, s settings) error {
	var b strings.Builder
	b.WriteString("| package | statements covered | mistakes | killed | survived | of these explained | score |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range all {
		dead := r.count(func(o result) bool { return o.outcome == killed })
		explained := r.count(func(o result) bool { return o.reason != "" })
		fmt.Fprintf(&b, "| `%s` | %.1f %% | %s | %d | %d | %d | %.1f %% |\n", strings.TrimPrefix(r.pattern, "./"), r.coverage,
			tried(r), dead, len(r.results)-dead, explained, score(dead, len(r.results)))
	}
	if s.sample > 0 {
		fmt.Fprintf(&b, "\nA sample, of -seed=%d.\n", s.seed)
	}
	for _, r := range all {
		if len(r.left) > 0 {
			fmt.Fprintf(&b, "\nNot asked, since slow: %s.\n", strings.Join(r.left, ", "))
		}
		for _, o := range r.results {
			if o.outcome != killed && o.reason == "" {
				fmt.Fprintf(&b, "\n%s", o.String())
			}
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func tried(r report) string {
	if len(r.results) == r.found {
		return fmt.Sprint(r.found)
	}
	return fmt.Sprintf("%d of %d", len(r.results), r.found)
}

func score(killed, of int) float64 {
	if of == 0 {
		return 100
	}
	return 100 * float64(killed) / float64(of)
}

// String is where the mistake is, what it is, and what became of it.
func (r result) String() string {
	at := r.at
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, at.Filename); err == nil {
			at.Filename = relative
		}
	}
	text := fmt.Sprintf("%s:%d:%d: %s", at.Filename, at.Line, at.Column, r.what)
	if r.outcome == notReached {
		text += " (" + string(notReached) + ")"
	}
	return text
}
