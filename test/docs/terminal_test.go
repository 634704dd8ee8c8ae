// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// question is what a command asks before it does something.
const question = "[y/N] "

// ctrlC is what the key types.
const ctrlC = "\x03"

// patience is only reached when a test fails: it is more than any command waits.
const patience = 8 * time.Minute

// typeInto runs commands in bash on a terminal of their own, says yes to what they ask, types
// Ctrl-C when the screen shows enough, if that is not empty, and returns what was on the
// screen. It ends with an error as soon as one of them does, or when patience is over.
func typeInto(t *testing.T, dir string, env []string, script, enough string) (screen string, err error) {
	t.Helper()
	terminal, theirs := openTerminal(t)
	defer terminal.Close()
	command := exec.Command("bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	command.Stdin, command.Stdout, command.Stderr = theirs, theirs, theirs
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	var late atomic.Bool
	stop := time.AfterFunc(patience, func() {
		late.Store(true)
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // with what it runs, which holds the terminal
	})
	defer stop.Stop()
	seen := make(chan string)
	go func() { seen <- answering(terminal, enough) }()
	err = command.Wait()
	screen = <-seen
	if late.Load() {
		err = fmt.Errorf("it did not end within %s", patience)
	}
	return screen, err
}

// answering reads until nobody has the terminal open any more, answers each question, and
// types Ctrl-C when the screen shows enough.
func answering(terminal *os.File, enough string) string {
	var screen strings.Builder
	asked := 0
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		screen.Write(buffer[:n])
		if err != nil {
			return screen.String() // EIO: the other side is closed
		}
		if now := strings.Count(screen.String(), question); now > asked {
			asked = now
			_, _ = terminal.WriteString("y\n") // who does not get it, waits until the test fails
		}
		if enough != "" && strings.Contains(screen.String(), enough) {
			enough = ""
			_, _ = terminal.WriteString(ctrlC)
		}
	}
}

// openTerminal is both sides of a new terminal, 100 columns wide.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}); err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}
