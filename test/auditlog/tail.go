// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
)

// Tail reads a log that grows, each line once.
type Tail struct{ offset int64 }

// Next returns the lines that were written since the last call. One that is still being
// written comes with the next.
func (t *Tail) Next(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, t.offset, math.MaxInt64-t.offset))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	t.offset += int64(len(text))
	return text, nil
}
