// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes \n": true, "yes": true, "\n": false, "n\n": false, "": false, "yesterday\n": false} {
		var out bytes.Buffer
		if got := agrees(strings.NewReader(answer), &out, "Apply this?"); got != want {
			t.Errorf("%q: %t; want %t", answer, got, want)
		}
		if out.String() != "Apply this? [y/N] " {
			t.Errorf("it asks %q", out.String())
		}
	}
}

func TestWhereNobodyCanBeAskedNothingIsDone(t *testing.T) {
	streams := Tool{}
	code, err := CodeOf(streams.Confirm(false, "Apply this?"))
	if code != WrongUsage || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("exit code %d: %v", code, err)
	}
	if err := streams.Confirm(true, "Apply this?"); err != nil {
		t.Error(err)
	}
}

func TestWhatNobodyReadsIsLost(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(writer, "applied"); err == nil {
		t.Fatal("somebody reads it")
	}
	if _, err := fmt.Fprintln(outlasting{writer}, "applied"); err != nil {
		t.Error(err)
	}
	if _, err := fmt.Fprintln(outlasting{failing{}}, "applied"); err == nil {
		t.Error("other errors are lost, too")
	}
}

// failing is a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestATimeoutOfZeroIsNoLimit(t *testing.T) {
	for limit, limited := range map[time.Duration]bool{0: false, time.Hour: true} {
		ctx, cancel := Within(t.Context(), limit)
		if _, got := ctx.Deadline(); got != limited || ctx.Err() != nil {
			t.Errorf("--timeout=%s: there is a limit: %t; %v", limit, got, ctx.Err())
		}
		cancel()
	}
}

func TestAMomentIsWhatPeopleMean(t *testing.T) {
	ten := time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("", 2*60*60))
	for text, want := range map[string]string{
		"2026-05-01T22:00:00Z":      "2026-05-01T22:00:00Z",
		"2026-05-01T22:00:00-03:00": "2026-05-01T22:00:00-03:00",
		"2026-05-01T22:00":          "2026-05-01T22:00:00+02:00",
		"2026-05-01 22:00":          "2026-05-01T22:00:00+02:00",
		"22:00":                     "2026-05-01T22:00:00+02:00",
		"10:00":                     "2026-05-02T10:00:00+02:00",
		"09:59":                     "2026-05-02T09:59:00+02:00",
		"+90m":                      "2026-05-01T11:30:00+02:00",
		"90m":                       "2026-05-01T11:30:00+02:00",
	} {
		if got, err := Moment(text, ten); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "25:00", "+0s", "+-1h", "-1h"} {
		if got, err := Moment(text, ten); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
