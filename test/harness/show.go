// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// shownLines of a program's log are enough to see how it ended. More would bury what the test
// itself has to say, of which there is a line.
const shownLines = 50

// showLog shows the log of a program whose test has failed.
func (p *Process) showLog() {
	p.t.Helper()
	log := p.Log()
	lines := strings.SplitAfter(log, "\n")
	if keeps := flag.Lookup("test.artifacts"); len(lines) <= shownLines || keeps == nil || keeps.Value.String() != "true" {
		p.t.Logf("log of %s:\n%s", p.name, log)
		return
	}
	path := filepath.Join(p.t.ArtifactDir(), fmt.Sprintf("%s-%d.log", strings.ReplaceAll(p.name, "/", "-"), p.command.Process.Pid))
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		p.t.Logf("log of %s (it cannot be kept: %v):\n%s", p.name, err, log)
		return
	}
	p.t.Logf("log of %s, the end of %s:\n%s", p.name, path, strings.Join(lines[len(lines)-shownLines:], ""))
}
