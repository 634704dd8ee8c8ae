// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// noon is when it is looked at what goes on.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// styles are those in which people see what a command prints. With NO_COLOR it is that of a
// terminal without colors, which show decides.
var styles = map[string]ui.Style{
	"no-terminal":     {},
	"80-columns":      {Terminal: true, Width: 80, Height: 24, Color: true},
	"120-columns":     {Terminal: true, Width: 120, Height: 40, Color: true},
	"80-columns-bare": {Terminal: true, Width: 80, Height: 24},
}

// goldenStyles wants what is printed in each of the styles to be what is in testdata.
func goldenStyles(t *testing.T, name string, printed func(io.Writer, ui.Style) error) {
	t.Helper()
	for style, s := range styles {
		t.Run(style, func(t *testing.T) {
			var out bytes.Buffer
			if err := printed(&out, s); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(name, style), out.String())
		})
	}
}

// goldenEncoded is the same for programs.
func goldenEncoded(t *testing.T, name string, value any) {
	t.Helper()
	for _, f := range []format{jsonText, yamlText} {
		var out bytes.Buffer
		if err := encode(&out, f, value); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join(name, string(f)), out.String())
	}
}

// read reads objects from a file in testdata, separated by ---.
func read[T any](t *testing.T, file string) []*T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []*T
	for document := range bytes.SplitSeq(text, []byte("---\n")) {
		object := new(T)
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, object)
	}
	return all
}

// testTool has its clock stand still.
func testTool() (*tool, *bytes.Buffer, *bytes.Buffer) {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	t := newTool(streams)
	t.clock = testingclock.NewFakeClock(noon)
	return t, out, errOut
}
