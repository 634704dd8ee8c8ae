// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	now := time.Unix(100, 0)
	got, err := judge([]string{"ab", "skip", "c"}, now.Add(-time.Minute), now)
	if err != nil || *got != (answer{"ab", 5, true}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := judge(nil, now, now); err == nil {
		t.Error("no error")
	}
}

func TestKind(t *testing.T) {
	if kind(-1) != "negative" || kind(1) != "some" || kind(10) != "many" {
		t.Error("wrong")
	}
}

func TestBoth(t *testing.T) {
	if got, err := both([]string{"a"}, time.Unix(100, 0)); err != nil || got.Name != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}
