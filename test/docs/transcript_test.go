// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// transcript is what was typed, and what the screen showed. While all goes well, nobody wants
// to read that. What fails is told first and last, so that it is not lost in between.
type transcript struct {
	t        *testing.T
	file     string // bash writes it
	began    time.Time
	commands []string // with when each began
	failures []string
}

// newTranscript is told when the test and its cleanups are over.
func newTranscript(t *testing.T) *transcript {
	t.Helper()
	r := &transcript{t: t, file: filepath.Join(t.TempDir(), "typed"), began: time.Now()}
	t.Cleanup(r.tell)
	return r
}

// recorded has bash write down when it begins a command, and which. What ends it, it says.
const recorded = `trap 'echo "exit code $? of: $BASH_COMMAND"' ERR
trap 'echo "$EPOCHREALTIME $BASH_COMMAND" >>"$TYPED"' DEBUG
`

// take adds what bash has written down, and forgets what it has taken.
func (r *transcript) take() {
	r.t.Helper()
	text, err := os.ReadFile(r.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		at, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			continue // the next line of a command that has several
		}
		since := seconds - float64(r.began.UnixMicro())/1e6
		r.commands = append(r.commands, fmt.Sprintf("%4.0f s  $ %.120s", since, command))
	}
	if err := os.Remove(r.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Error(err)
	}
}

// failed says what is wrong with what the screen showed last.
func (r *transcript) failed(what, screen string) {
	r.t.Helper()
	r.failures = append(r.failures, what)
	r.t.Errorf("%s; the screen showed last:\n%s", what, lastOf(screen))
}

// tell lists the commands; if one has failed, it ends with that once more.
func (r *transcript) tell() {
	r.t.Helper()
	r.t.Logf("typed, and when:\n%s", strings.Join(r.commands, "\n"))
	for _, what := range r.failures {
		r.t.Log("failed: " + what)
	}
}

// lastOf is the end of a screen, from the beginning of a line on.
func lastOf(screen string) string {
	const enough = 5000
	if len(screen) <= enough {
		return screen
	}
	_, lines, _ := strings.Cut(screen[len(screen)-enough:], "\n")
	return "[...]\n" + lines
}

func TestATranscriptSaysWhichCommandFailed(t *testing.T) {
	r := newTranscript(t)
	screen, err := typeInto(t, t.TempDir(), []string{"TYPED=" + r.file}, recorded+"echo good\n(exit 7) || test $? = 7\necho bad | grep good\necho never", "")
	r.take()
	if err == nil || !strings.HasSuffix(screen, "exit code 1 of: grep good\r\n") {
		t.Errorf("%v, and the screen shows %q", err, screen)
	}
	if all := strings.Join(r.commands, "\n"); !strings.Contains(all, "$ echo good") || strings.Contains(all, "never") {
		t.Errorf("typed were\n%s", all)
	}
}

func TestTheEndOfAScreenBeginsWithALine(t *testing.T) {
	if got := lastOf(strings.Repeat("1234567\n", 1000)); !strings.HasPrefix(got, "[...]\n1234567\n") || len(got) > 5010 {
		t.Errorf("it is %q", got)
	}
}
