// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
)

// The exit codes. Where several nodes end in different ways, the first of Error, Failed,
// Canceled and Blocked that occurs is the code.
const (
	// Done: what was asked for has happened, or was begun where nobody waits for it.
	Done = 0
	// Error: something else than what was asked for went wrong.
	Error = 1
	// Usage: the command line is wrong.
	Usage = 2
	// Failed: a transition failed, or its deadline passed.
	Failed = 3
	// Canceled: somebody canceled it.
	Canceled = 4
	// Blocked: it was not done when the time to wait was over.
	Blocked = 5
	// interrupted is what shells say of a process that SIGINT has ended.
	interrupted = 130
)

// exit is an error with an exit code of its own. Without err, all has been said.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// usage is an error in the command line.
func usage(format string, args ...any) error {
	return exit{Usage, fmt.Errorf(format, args...)}
}

// codeOf is the exit code for what a command returned, and what is still to be said.
func codeOf(err error) (int, error) {
	var e exit
	switch {
	case err == nil:
		return Done, nil
	case errors.As(err, &e) && e.err == nil:
		return e.code, nil
	case errors.As(err, &e):
		return e.code, err
	default:
		return Error, err
	}
}
