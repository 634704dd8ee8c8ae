// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// errDeclined is what comes of a question that was answered with no.
var errDeclined = exit{Error, errors.New("nothing was done: the question was not answered with yes")}

// confirm asks whoever sits at the terminal, unless yes is what the flags say. Where nobody
// can be asked, that is an error.
func (t *tool) confirm(yes bool, question string) error {
	switch {
	case yes:
		return nil
	case !isTerminal(t.In):
		return usage("nothing was done: nobody can be asked here; --yes does without a question")
	case agrees(t.In, t.ErrOut, question):
		return nil
	default:
		return errDeclined
	}
}

// agrees asks, and reads a line.
func agrees(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprintf(out, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		return false
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
