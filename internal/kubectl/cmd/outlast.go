// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// outlast keeps the process, and what it writes to out and errOut, from ending when nobody
// reads that any more, as in "| head": halfway through an installation would be worse than
// unread. It returns the style of what was out.
func (t *tool) outlast() ui.Style {
	style := ui.StyleOf(t.Out, os.Getenv)
	signal.Ignore(syscall.SIGPIPE)
	t.Out, t.ErrOut = outlasting{t.Out}, outlasting{t.ErrOut}
	return style
}

// outlasting loses what nobody reads.
type outlasting struct{ io.Writer }

func (o outlasting) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	return n, err
}
