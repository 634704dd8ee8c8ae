// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Tail reads a log that grows, each line once.
type Tail struct{ offset int64 }

// Requests returns the requests in the lines that [Tail.Next] returns.
func (t *Tail) Requests(path string) ([]Request, error) {
	text, err := t.Next(path)
	if err != nil {
		return nil, err
	}
	return Read(bytes.NewReader(text))
}

// Next returns the lines that were written since the last call. A line that is still being written comes with the
// next call.
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

// Settle returns when the log has all requests that were answered so far. The API server writes the log a moment after
// its answer, so Settle gets an object that does not exist, and reads until the log has that request.
func Settle(ctx context.Context, get func(ctx context.Context, name string) error, read func() ([]Request, error)) error {
	mark := "audit-mark-" + strings.ToLower(rand.Text())
	if err := get(ctx, mark); !apierrors.IsNotFound(err) {
		return fmt.Errorf("get an object that does not exist: %w", err)
	}
	for ctx.Err() == nil {
		requests, err := read()
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(requests) {
			if r.Name == mark {
				return nil
			}
		}
	}
	return context.Cause(ctx)
}
