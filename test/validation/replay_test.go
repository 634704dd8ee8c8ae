// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// recorded is where internal/eviction/request leaves what its scripts ask of the server.
var recorded = filepath.Join("..", "..", "internal", "eviction", "request", "testdata", "writes")

// asked is one write of a recording.
type asked struct {
	At      time.Time       `json:"at"`
	Verb    string          `json:"verb"`
	Refused bool            `json:"refused"`
	Object  json.RawMessage `json:"object"`
}

// What the scripts have done, the server does as well: it takes in what the
// evictionrequest-controller writes, and refuses a responder what the scripts refuse it.
func TestTheServerTakesInWhatTheControllerWritesAtAnyTime(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recorded, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	writes, refused := 0, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			s := newServer()
			for i, w := range read(t, file) {
				err := s.do(w)
				switch {
				case err == nil && w.Refused:
					t.Errorf("line %d: the server takes in what the script refuses: %s %s", i+1, w.Verb, w.Object)
				case err != nil && !w.Refused:
					t.Errorf("line %d: the server refuses what the script takes in: %v", i+1, err)
				case err != nil && !apierrors.IsInvalid(err):
					t.Errorf("line %d: the server refuses it for another reason: %v", i+1, err)
				}
				writes++
				if w.Refused {
					refused++
				}
			}
		})
	}
	t.Logf("%d writes of %d scripts, of which %d are to be refused", writes, len(files), refused)
	if refused == 0 || writes < 100 {
		t.Error("there is too little in the recordings")
	}
}

func read(t *testing.T, file string) (writes []asked) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var w asked
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatal(err)
		}
		writes = append(writes, w)
	}
	return writes
}

// The server's clock is what counts: the same writes are refused while it is another time.
func TestTheServerRefusesTheSameWritesAtAnotherTime(t *testing.T) {
	for name, off := range map[string]time.Duration{"too early": -time.Minute, "too late": time.Minute} {
		t.Run(name, func(t *testing.T) {
			s, refused := newServer(), 0
			for _, w := range read(t, filepath.Join(recorded, "silent.jsonl")) {
				w.At = w.At.Add(off)
				if err := s.do(w); apierrors.IsInvalid(err) {
					refused++
				}
			}
			if refused == 0 {
				t.Error("the server takes in everything: its clock plays no part")
			}
		})
	}
}
