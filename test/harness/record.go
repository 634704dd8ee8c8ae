// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Record adds a row to the table at the end of the page that SLIPWAY_RECORD names, if it names
// one, when the test has passed: of what is too long for each change, people want to know when
// it was run.
func Record(t *testing.T, what string) {
	t.Helper()
	page := os.Getenv("SLIPWAY_RECORD")
	if page == "" {
		return
	}
	began := time.Now()
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", began.Format(time.DateOnly), commit(), t.Name(), what, time.Since(began).Round(time.Second))
		file, err := os.OpenFile(page, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Errorf("SLIPWAY_RECORD: %v", err)
			return
		}
		_, err = file.WriteString(row)
		if err := file.Close(); err != nil {
			t.Errorf("SLIPWAY_RECORD: %v", err)
		}
		if err != nil {
			t.Errorf("SLIPWAY_RECORD: %v", err)
		}
	})
}

// commit is what the working tree is at; it may have been changed since.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
