// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"slices"
	"strconv"
	"sync"

	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// requestLog is what was read of the audit log. It is read bit by bit: it grows by
// tens of megabytes while many tests ask for it.
type requestLog struct {
	mu       sync.Mutex
	tail     auditlog.Tail
	requests []auditlog.Request
	changed  []auditlog.Request // those of them that tell of promises
	marks    int
}

// upToNow reads what has come since, and returns all there is. It must not be changed.
func (l *requestLog) upToNow(path string) ([]auditlog.Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(path); err != nil {
		return nil, err
	}
	return slices.Clip(l.requests), nil
}

// changes are those of the requests up to now by which it is seen whether promises were
// kept.
func (l *requestLog) changes(path string) ([]auditlog.Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(path); err != nil {
		return nil, err
	}
	return slices.Clip(l.changed), nil
}

func (l *requestLog) read(path string) error {
	text, err := l.tail.Next(path)
	if err != nil {
		return err
	}
	requests, err := auditlog.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for _, r := range requests {
		if auditcheck.Wanted(r) {
			l.changed = append(l.changed, r)
		}
		if r.Subresource != "eviction" {
			r.Body = nil // nobody else asks for it
		}
		r.Answer = nil
		l.requests = append(l.requests, r)
	}
	return nil
}

// nextMark is a number that no other request has.
func (l *requestLog) nextMark() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks++
	return strconv.Itoa(l.marks)
}
