// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsWrappedAtTheWidthOfTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		width int
		text  string
		want  []string
	}{
		"a text that fits stays a line":    {20, "one two", []string{"- one two"}},
		"one that does not is indented":    {10, "one two three", []string{"- one two", "  three"}},
		"a long word stands alone":         {8, "a incomprehensible b", []string{"- a", "  incomprehensible", "  b"}},
		"without a width nothing breaks":   {0, "one two three four five", []string{"- one two three four five"}},
		"what a terminal obeys is left":    {0, "\x1b[2Jcart\r\n-0\x07", []string{"- [2Jcart -0"}},
		"nothing is a line with the head":  {10, "", []string{"- "}},
		"characters count, and not bytes":  {10, "→→→ →→→→", []string{"- →→→ →→→→"}},
		"a line is never beyond the width": {9, "→→→ →→→→", []string{"- →→→", "  →→→→"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Style{Width: c.width}.Wrap("- ", c.text)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestACommandIsWrappedSoThatAShellTakesIt(t *testing.T) {
	got := Style{Width: 30}.WrapCommand("$ ", `kubectl -n shop patch pdb cart -p '{"a": 1, "b": {"c": 2}}'`)
	want := []string{`$ kubectl -n shop patch pdb \`, `  cart -p \`, `  '{"a": 1, "b": {"c": 2}}'`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
