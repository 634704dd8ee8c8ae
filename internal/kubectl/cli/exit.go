// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
)

// The exit codes of kubectl slipway. [ExitCodes] explains them to people.
const (
	Done        = 0
	Error       = 1
	WrongUsage  = 2
	Failed      = 3
	Canceled    = 4
	TimedOut    = 5
	WouldBlock  = 6
	Held        = 7
	Interrupted = 130 // as shells have it for a process that SIGINT has ended
)

// ExitCodes is the table of exit codes, for the help of the root command.
const ExitCodes = `Exit codes, of all commands:
    0  done; with --wait=false: the request was accepted
    1  error: for example no connection, no permission, no such node, or pods that a drain refuses
    2  wrong usage: the command line is wrong, and nothing was done
    3  failed: a node or a pod failed, or the deadline in the cluster passed
    4  canceled: somebody ended it early
    5  timed out: it was not done when --timeout was over; as a rule it goes on in the cluster
    6  would block: 'plan' predicts that something would block
    7  held by another: another actor holds the node or has its lease, or another party's cordon remains
  130  interrupted: Ctrl-C or SIGTERM ended the command, and not what it has begun
Where several nodes or pods end differently, the first of 1, 3, 4, 7 and 5 that occurs is the code.
'lease acquire NODE -- COMMAND' ends with the exit code of the command.`

// severity is the order in which the ends of several nodes count.
var severity = []int{Error, Failed, Canceled, Held, TimedOut}

// ExitError is an error with an exit code. Err is nil if the command has reported it already.
type ExitError struct {
	Code int
	Err  error
}

func (e ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e ExitError) Unwrap() error { return e.Err }

// Exitf returns an error with an exit code.
func Exitf(code int, format string, args ...any) error {
	return ExitError{code, fmt.Errorf(format, args...)}
}

// Usagef returns an error about the command line.
func Usagef(format string, args ...any) error {
	return ExitError{WrongUsage, fmt.Errorf(format, args...)}
}

// CodeOf returns the exit code for the error of a command, and the error that is not reported yet.
func CodeOf(err error) (int, error) {
	e, ok := errors.AsType[ExitError](err)
	switch {
	case err == nil:
		return Done, nil
	case ok && e.Err == nil:
		return e.Code, nil
	case ok:
		return e.Code, err
	default:
		return Error, err
	}
}

// Ending returns the end of a command for several nodes, of which each was reported with its
// code.
func Ending(codes []int) error {
	for _, code := range severity {
		if slices.Contains(codes, code) {
			return ExitError{Code: code}
		}
	}
	return nil
}
