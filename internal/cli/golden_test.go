// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/slipway-k8s/slipway/internal/show"
)

// styles are those in which people see what a command prints. With NO_COLOR it is that of a
// terminal without colors, which show decides.
var styles = map[string]show.Style{
	"no-terminal":     {},
	"80-columns":      {Terminal: true, Width: 80, Color: true},
	"120-columns":     {Terminal: true, Width: 120, Color: true},
	"80-columns-bare": {Terminal: true, Width: 80},
}

// goldenStyles wants what is printed in each of the styles to be what is in testdata.
func goldenStyles(t *testing.T, name string, printed func(io.Writer, show.Style) error) {
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
