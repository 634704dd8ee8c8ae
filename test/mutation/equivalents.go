// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
)

// equivalents are mistakes that no test can see, with their reasons.
//
//go:embed equivalent.txt
var equivalents string

// equivalent names mistakes by where they are and what they are: lines move.
type equivalent struct{ file, what string }

// readEquivalents reads blocks of a reason, which begins with #, and the mistakes that it is for:
// file, colon, mistake.
func readEquivalents(text string) (map[equivalent]string, error) {
	all := map[equivalent]string{}
	for block := range strings.SplitSeq(text, "\n\n") {
		reason := ""
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if said, ok := strings.CutPrefix(line, "#"); ok {
				reason = strings.TrimSpace(reason + " " + strings.TrimSpace(said))
				continue
			}
			if line == "" {
				continue
			}
			file, what, ok := strings.Cut(line, ": ")
			if !ok || reason == "" {
				return nil, fmt.Errorf("read equivalent.txt: %q: want a reason above, then file, colon, mistake", line)
			}
			all[equivalent{file, what}] = reason
		}
	}
	return all, nil
}

// explain notes the reasons of survivors that have one.
func (r *report) explain(reasons map[equivalent]string) {
	for i, o := range r.results {
		if o.outcome != killed {
			name := filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(o.at.Filename)), filepath.Base(o.at.Filename)))
			r.results[i].reason = reasons[equivalent{name, o.what}]
		}
	}
}
