// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"k8s.io/utils/clock"
)

// patience is how long a command may take to answer before the recording is given up.
const patience = 2 * time.Minute

// shell is one on a pseudo-terminal, with all that was seen there.
type shell struct {
	terminal vt10x.Terminal
	tty      *os.File
	clock    clock.PassiveClock

	mu      sync.Mutex
	sights  []sight
	typing  bool
	changed chan struct{} // closed when there is something new to see
	ended   error
}

// startShell starts a shell with nothing of the user's in it.
func startShell(ctx context.Context, clock clock.PassiveClock, columns, rows int, environment []string) (*shell, error) {
	command := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-i")
	command.Env = append(slices.Clip(environment), "TERM=xterm-256color", "PS1=$ ", "HISTFILE=")
	tty, err := pty.StartWithSize(command, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		return nil, fmt.Errorf("start bash on a terminal: %w", err)
	}
	s := &shell{
		terminal: vt10x.New(vt10x.WithSize(columns, rows)),
		tty:      tty,
		clock:    clock,
		changed:  make(chan struct{}),
	}
	go s.watch()
	return s, nil
}

// watch keeps what the terminal shows, until the shell ends.
func (s *shell) watch() {
	var grey greyer
	buffer := make([]byte, 32<<10)
	for {
		n, err := s.tty.Read(buffer)
		s.mu.Lock()
		if n > 0 {
			_, _ = s.terminal.Write(grey.instead(buffer[:n])) // it takes everything
			s.terminal.Lock()
			seen := screenOf(s.terminal)
			s.terminal.Unlock()
			s.sights = append(s.sights, sight{screen: seen, at: s.clock.Now(), typed: s.typing})
		}
		if err != nil {
			s.ended = fmt.Errorf("read the terminal: %w", err)
		}
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// greyer gives faint text a grey color: the emulator knows no faint text.
type greyer struct{ rest []byte }

// instead is what to write instead. An escape sequence that is not whole yet waits.
func (g *greyer) instead(written []byte) []byte {
	const faint, grey = "\x1b[2m", "\x1b[90m"
	text := strings.ReplaceAll(string(g.rest)+string(written), faint, grey)
	g.rest = nil
	for part := len(faint) - 1; part > 0; part-- {
		if strings.HasSuffix(text, faint[:part]) {
			g.rest = []byte(faint[:part])
			return []byte(strings.TrimSuffix(text, faint[:part]))
		}
	}
	return []byte(text)
}

// enter types a line, key by key, and the Enter key when it stands there.
func (s *shell) enter(ctx context.Context, line string) error {
	for i, key := range line {
		if err := s.press(ctx, string(key), line[:i+len(string(key))]); err != nil {
			return err
		}
	}
	s.hold(500 * time.Millisecond)
	_, err := io.WriteString(s.tty, "\r")
	return err
}

// press presses a key and waits for its echo: the line as far as it is typed.
func (s *shell) press(ctx context.Context, key, typed string) error {
	s.setTyping(true)
	defer s.setTyping(false)
	if _, err := io.WriteString(s.tty, key); err != nil {
		return err
	}
	// A long line goes on in the next row.
	return s.until(ctx, fmt.Sprintf("key %q", key), func(shown screen) bool {
		flat := strings.ReplaceAll(strings.TrimRight(shown.String(), " \n"), "\n", "")
		return strings.HasSuffix(flat, strings.TrimRight(typed, " "))
	})
}

// interrupt presses Ctrl-C.
func (s *shell) interrupt() error {
	_, err := io.WriteString(s.tty, "\x03")
	return err
}

// await waits until the screen shows what is looked for.
func (s *shell) await(ctx context.Context, what *regexp.Regexp) error {
	return s.until(ctx, what.String(), func(shown screen) bool { return what.MatchString(shown.String()) })
}

func (s *shell) until(ctx context.Context, what string, holds func(screen) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it took too long"))
	defer cancel()
	for {
		shown, changed, ended := s.look()
		if holds(shown) {
			return nil
		}
		if ended != nil {
			return fmt.Errorf("wait for %s: %w", what, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; the terminal shows:\n%s", what, context.Cause(ctx), shown)
		}
	}
}

func (s *shell) look() (screen, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sights) == 0 {
		return screen{}, s.changed, s.ended
	}
	return s.sights[len(s.sights)-1].screen, s.changed, s.ended
}

// hold lets the screen stand for a while in the recording, to be read.
func (s *shell) hold(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sights[len(s.sights)-1].hold += d
}

func (s *shell) setTyping(typing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typing = typing
}

// seen is everything so far.
func (s *shell) seen() []sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sights
}
