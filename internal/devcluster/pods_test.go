// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheEndOfALogIsQuoted(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for i := range 20 {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	path := filepath.Join(dir, "logs", "kube-scheduler.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{}
	c.Dir = dir
	want := path + " ends with:\nline 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19"
	if got := c.logEnd("kube-scheduler").Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := c.logEnd("kube-controller-manager").Error(); !strings.Contains(got, "kube-controller-manager.log") {
		t.Errorf("of one without a log: %q", got)
	}
}
