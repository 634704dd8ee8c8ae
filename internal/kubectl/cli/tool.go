// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// Tool has the common parts of all commands: the streams, kubectl's flags for the cluster and the user,
// and the clock.
type Tool struct {
	genericiooptions.IOStreams
	Flags *genericclioptions.ConfigFlags
	Clock clock.WithTicker
}

// NewTool returns a Tool for these streams. It removes control characters from the error output.
func NewTool(streams genericiooptions.IOStreams) *Tool {
	streams.ErrOut = ui.Cleaned(streams.ErrOut)
	return &Tool{IOStreams: streams, Flags: genericclioptions.NewConfigFlags(true), Clock: clock.RealClock{}}
}

// Sayf prints a text without colors on the output, cleaned.
func (t *Tool) Sayf(format string, args ...any) {
	fmt.Fprint(t.Out, ui.CleanLines(fmt.Sprintf(format, args...)))
}

// Notef prints a line for people on the error output.
func (t *Tool) Notef(format string, args ...any) { fmt.Fprintf(t.ErrOut, format+"\n", args...) }

// Style returns how to print on the output. A terminal may change its size: ask each time.
func (t *Tool) Style() ui.Style { return ui.StyleOf(t.Out, os.Getenv) }

// NewRoot returns kubectl slipway with these commands.
func NewRoot(t *Tool, commands func(*Tool) []*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-slipway",
		Short: "Take nodes out of service, and return them to service",
		Long: `kubectl slipway takes nodes of a cluster out of service and returns them to service. It sends
requests; Slipway's agents do the work in the cluster, and continue without this command.

` + ExitCodes,
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slipway"},
		Args:          cobra.NoArgs,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.ErrOut)
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return Usagef("%w; see '%s --help'", err, command.CommandPath())
	})
	t.Flags.AddFlags(root.PersistentFlags())
	root.AddCommand(commands(t)...)
	wrongArgumentsAreUsage(root)
	return root
}

// Run runs a command line, prints its error, and returns the exit code.
func Run(ctx context.Context, command *cobra.Command) int {
	err := command.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return Interrupted
	}
	code, err := CodeOf(err)
	if err != nil {
		fmt.Fprintln(command.ErrOrStderr(), "error:", err)
	}
	return code
}

// wrongArgumentsAreUsage gives cobra's errors about arguments and groups of flags the exit code of
// wrong usage, and adds the arguments that the command takes.
func wrongArgumentsAreUsage(command *cobra.Command) {
	check := command.Args
	command.Args = func(command *cobra.Command, args []string) error {
		err := check(command, args)
		if _, known := errors.AsType[ExitError](err); known {
			return err
		}
		if err == nil {
			err = command.ValidateFlagGroups()
		}
		if err != nil {
			return Usagef("%w: usage is '%s'; see '%s --help'", err, command.UseLine(), command.CommandPath())
		}
		return nil
	}
	for _, c := range command.Commands() {
		wrongArgumentsAreUsage(c)
	}
}

// errDeclined ends a command whose question was not answered with yes.
var errDeclined = ExitError{Error, errors.New("the command has done nothing: the answer was not yes")}

// Confirm asks the user at the terminal, except with --yes. Without a terminal it
// returns an error.
func (t *Tool) Confirm(yes bool, question string) error {
	switch {
	case yes:
		return nil
	case !isTerminal(t.In):
		return Usagef("the command has done nothing: there is no terminal for its question; --yes skips the question")
	case agrees(t.In, t.ErrOut, question):
		return nil
	default:
		return errDeclined
	}
}

// agrees asks a question and reads the answer.
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

// Outlast keeps the process from ending when the reader of its output ends, as in "| head":
// half an installation would be worse than unread output. It returns the style of the output.
func (t *Tool) Outlast() ui.Style {
	style := t.Style()
	signal.Ignore(syscall.SIGPIPE)
	t.Out, t.ErrOut = outlasting{t.Out}, outlasting{t.ErrOut}
	return style
}

// outlasting drops what cannot be written because the reader has ended.
type outlasting struct{ io.Writer }

func (o outlasting) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	return n, err
}

// ErrTimeout is the cause of a context that [Within] has ended.
var ErrTimeout = errors.New("timed out")

// Within returns a context that ends after a limit; 0 means without limit.
func Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, ErrTimeout)
}

// IsOver reports whether a context of [Within] has reached its limit.
func IsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrTimeout) }

// Complete returns a completion for at most so many arguments (0: any number). It suggests the
// names that list returns soon and that are no arguments yet. Without an answer of the cluster it
// suggests nothing.
func (t *Tool) Complete(most int, list func(ctx context.Context, args []string) []string) cobra.CompletionFunc {
	const patience = 3 * time.Second
	return func(command *cobra.Command, args []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(command.Context(), patience)
		defer cancel()
		for _, name := range list(ctx, args) {
			if strings.HasPrefix(name, begun) && !slices.Contains(args, name) {
				found = append(found, name)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// cutKind reads an argument that names an object: worker-1, or node/worker-1.
func cutKind(arg string, kinds ...string) (name string, ok bool) {
	kind, name, found := strings.Cut(arg, "/")
	if !found {
		return arg, arg != ""
	}
	return name, name != "" && slices.Contains(kinds, kind)
}

// Pointers returns pointers to the items of a list.
func Pointers[T any](items []T) []*T {
	all := make([]*T, 0, len(items))
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}
