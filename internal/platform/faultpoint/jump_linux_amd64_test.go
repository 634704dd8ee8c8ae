// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faultpoint

import (
	"encoding/binary"
	"os"
	"testing"
	"time"
)

// TestJump has the clock go a quarter of an hour ahead and back, behind the time that it is.
func TestJump(t *testing.T) {
	path := os.Getenv(clockFile)
	if path == "" {
		t.Skip("the clock of this process cannot jump")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	began := time.Now()
	for _, offset := range []int64{900, -900, 0} {
		if _, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(offset)), 0); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if got := now.Unix() - began.Unix() - offset; got < 0 || got > 60 {
			t.Errorf("at an offset of %d s it is %d s after it began", offset, got+offset)
		}
		if took := now.Sub(began); took < 0 || took > time.Minute {
			t.Errorf("at an offset of %d s, %s have passed", offset, took)
		}
	}
}
