// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shownLines of a program's log are enough to see how it ended. More would bury what the test
// itself has to say, of which there is a line.
const shownLines = 50

// showLog shows the log of a program under test that has failed.
func showLog(t *testing.T, name, log string) {
	t.Helper()
	lines := strings.SplitAfter(log, "\n")
	if keeps := flag.Lookup("test.artifacts"); len(lines) <= shownLines || keeps == nil || keeps.Value.String() != "true" {
		t.Logf("log of %s:\n%s", name, log)
		return
	}
	file, err := os.CreateTemp(t.ArtifactDir(), strings.ReplaceAll(name, "/", "-")+"-*.log")
	if err != nil {
		t.Logf("log of %s (it cannot be kept: %v):\n%s", name, err, log)
		return
	}
	_, err = file.WriteString(log)
	if closed := file.Close(); err != nil || closed != nil {
		t.Logf("log of %s (it cannot be kept: %v %v):\n%s", name, err, closed, log)
		return
	}
	t.Logf("log of %s, the end of %s:\n%s", name, filepath.Clean(file.Name()), strings.Join(lines[len(lines)-shownLines:], ""))
}
