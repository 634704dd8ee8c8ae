// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStyleOfATerminalIsAsItsOwnerWantsIt(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	usual := Style{Terminal: true, Width: usualWidth, Height: usualHeight}
	colored := usual
	colored.Color = true
	for name, tc := range map[string]struct {
		environment map[string]string
		want        Style
	}{
		"a terminal":               {want: colored},
		"NO_COLOR":                 {map[string]string{"NO_COLOR": "1"}, usual},
		"NO_COLOR, which is empty": {map[string]string{"NO_COLOR": ""}, colored},
		"TERM=dumb":                {map[string]string{"TERM": "dumb"}, Style{Width: usualWidth, Height: usualHeight}},
	} {
		got := StyleOf(terminal, func(name string) string { return tc.environment[name] })
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStyleOfAFileHasNoColors(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if diff := cmp.Diff(Style{}, StyleOf(file, os.Getenv)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
