// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"
)

// steps tell a waiting person what is being done, and since when.
type steps struct {
	out   io.Writer
	began time.Time
}

func newSteps(out io.Writer) *steps { return &steps{out: out, began: time.Now()} }

func (s *steps) step(format string, values ...any) {
	fmt.Fprintf(s.out, "%6.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, values...))
}
